import TestHelpers
import Testing

@testable import CurlewCore

/// The places that name the version of Curlew. The version itself is in `UserAgent.swift`.
@Suite("The version in the project's files")
struct ReleaseTests {
    private static let version = UserAgent.curlewVersion

    @Test("the version has three numbers")
    func form() {
        #expect(Self.version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
    }

    @Test("the newest release in the changelog has this version and a date")
    func changelog() throws {
        let headings = try Repository.text(of: "CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(headings.first == "## [Unreleased]")
        let newest = try #require(headings.dropFirst().first?.wholeMatch(of: /## \[(.+)\] - \d{4}-\d\d-\d\d/))
        #expect(newest.1 == Self.version)
    }

    @Test(
        "a dependency in the documentation has this version",
        arguments: ["README.md", "DocC/Curlew.docc/Quickstart.md", "DocC/Curlew.docc/Dependencies.md"])
    func dependencies(_ path: String) throws {
        let found = try Repository.text(of: path).matches(of: /from: "([^"]*)"/).map { String($0.1) }
        #expect(Set(found) == [Self.version])
    }

    @Test("the documentation names this version wherever it shows a User-Agent")
    func userAgents() throws {
        var texts = try Repository.swiftFiles(under: "Sources").map { try Repository.text(of: $0) }
        texts.append(try Repository.text(of: "DocC/Curlew.docc/MigratingFromAFNetworking.md"))
        let found = texts.flatMap { $0.matches(of: /Curlew\/(\d[\d.]*)/).map { String($0.1) } }
        #expect(found.count > 3)
        #expect(Set(found) == [Self.version])
    }

    @Test("each claim of the README has suites or commands, which exist")
    func claims() throws {
        let article = try Repository.text(of: "DocC/Curlew.docc/Conformance.md")
        let section = try #require(article.split(separator: "## The claims of the README").last)
        let table = section.split(separator: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
        let rows = table.dropFirst(2)
        #expect(rows.count > 20)
        let make = try Repository.text(of: "Makefile") + Repository.text(of: "Benchmarks/bench.mk")
        let suites = try Repository.swiftFiles(under: "Tests").map { try Repository.text(of: $0) }.joined()
        for row in rows {
            let names = row.matches(of: /`(\w+Tests)`/)
            let targets = row.matches(of: /`make ([\w-]+)/)
            #expect(!names.isEmpty || !targets.isEmpty, "\(row)")
            for name in names { #expect(suites.contains("struct \(name.1) {"), "\(name.1)") }
            for target in targets { #expect(make.contains("\n\(target.1):"), "\(target.1)") }
        }
    }
}
