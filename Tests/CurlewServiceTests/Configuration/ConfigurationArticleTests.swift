#if Service
import Curlew
import CurlewService
import Foundation
import Testing

@Suite("The article on configuration keys")
struct ConfigurationArticleTests {
    private static let root = String(
        #filePath.dropLast("/Tests/CurlewServiceTests/Configuration/ConfigurationArticleTests.swift".count))

    private func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
    }

    @Test("its table is the table of the code")
    func table() throws {
        let rows = HTTPSession.Settings.keys.map { key in
            let form = key.isSecret ? "\(key.form); secret" : key.form
            let isWords = key.defaultValue?.contains(" ") ?? true
            let standard = key.defaultValue.map { isWords ? $0 : "`\($0)`" } ?? "–"
            return "| `\(key.name)` | \(form) | \(standard) | \(key.meaning) |"
        }
        let article = try text(of: "DocC/Curlew.docc/Configuration.md")
        let section = try #require(article.components(separatedBy: "\n## The keys\n").last)
        let found = section.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") }
        #expect(found == rows, "the table should be:\n\(rows.joined(separator: "\n"))\n")
    }

    @Test("it shows code that compiles")
    func snippets() throws {
        let lines = { (text: String) in
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
                .joined(separator: "\n")
        }
        let article = try text(of: "DocC/Curlew.docc/Configuration.md")
        let blocks = article.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(!blocks.isEmpty)
        let compiled = lines(try text(of: "Tests/CurlewServiceTests/Support/Snippets.swift"))
        for block in blocks { #expect(compiled.contains(lines(block)), "\(block)") }
    }

    @Test("keys have names of small letters, digits and hyphens, and each is there once")
    func names() {
        let names = HTTPSession.Settings.keys.map(\.name)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*/) != nil, "\(name)")
        }
        // Variables have underscores for points and hyphens alike.
        let variables = names.map { $0.replacing("-", with: "_").replacing(".", with: "_") }
        #expect(Set(variables).count == variables.count)
    }
}
#endif
