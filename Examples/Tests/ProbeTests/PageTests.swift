import Foundation
import Testing

@testable import Probe

@Suite("The documentation page of the probe")
struct PageTests {
    private let page: String

    init() throws {
        let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        page = try String(contentsOf: examples.appendingPathComponent("PROBE.md"), encoding: .utf8)
    }

    /// The names in the first column of a section's table.
    private func names(in section: String) throws -> [String] {
        let start = try #require(page.range(of: "## \(section)\n")).upperBound
        let rows = page[start...].prefix(while: { $0 != "#" }).split(separator: "\n")
        return rows.filter { $0.hasPrefix("| `") }.compactMap { $0.split(separator: "`").dropFirst().first }
            .map(String.init)
    }

    @Test("each field of a fetch has a rule in the code and a row on the page")
    func fields() throws {
        let rules = Operation.fetch.rules.map(\.name)
        #expect(Set(rules).count == rules.count)
        #expect(try names(in: "Fields of a fetch").sorted() == rules.sorted())
    }

    @Test("a stream accepts the fields of a fetch, except those that concern a complete body")
    func streamFields() {
        let missing = Set(Operation.fetch.rules.map(\.name)).subtracting(Operation.events.rules.map(\.name))
        let whole = [
            "retry", "max_body", "as", "remove_nulls", "accept_status", "accept_types", "download", "upload",
        ]
        #expect(missing == Set(whole))
        let sentence = page.replacing("\n", with: " ")
        let names = whole.dropLast().map { "`\($0)`" }.joined(separator: ", ")
        #expect(
            sentence.contains(
                "`sse` takes them too, all but those that are about one response and its whole body: \(names) and `upload`."
            ))
    }

    @Test("each operation has a row on the page")
    func operations() throws {
        let rows = try names(in: "Operations").filter { $0 != "op" }
        #expect(rows.count == 8)
        for name in rows { #expect(Operation.named(name) != nil) }
    }
}
