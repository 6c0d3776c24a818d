import Foundation
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Workarounds by version of libcurl")
struct LibcurlDefectTests {
    /// The names of the workarounds that are active with a version, in the form of `LIBCURL_VERSION_NUM`.
    private func active(_ version: UInt32) -> Set<String> {
        Set(LibcurlDefect.allCases.filter { $0.versions.contains(version) }.map(\.rawValue))
    }

    @Test("the article's table names the workarounds that are active with each version")
    func table() throws {
        let text = try Repository.text(of: "DocC/Curlew.docc/Architecture.md")
        let rows = text.split(separator: "\n").drop { !$0.hasPrefix("| workaround |") }.prefix { $0.hasPrefix("|") }
        let cells = rows.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(cells.first == ["workaround", "7.88.1", "8.14.1", "8.21.0"])
        for (column, version) in [UInt32(0x075801), 0x080E01, 0x081500].enumerated() {
            let named = cells.dropFirst(2).filter { $0[column + 1] == "yes" }.map { $0[0].replacing("`", with: "") }
            #expect(Set(named) == active(version) && named.count == active(version).count, "column \(column)")
        }
        #expect(cells.count == LibcurlDefect.allCases.count + 2)
    }

    @Test("the loaded libcurl's defects follow from its version")
    func loaded() {
        let active = active(Engine.versionNumber)
        #expect(Engine.asksInVain == active.contains("asksInVain"))
        #expect(Engine.keepsResetsBack == active.contains("keepsResetsBack"))
        #expect(Engine.sharesAfterFirstHead == active.contains("sharesAfterFirstHead"))
    }
}
