import TestHelpers
import Testing

@Suite("The table of AFNetworking's features")
struct MigrationTests {
    private struct Row {
        let number: Int
        /// The cells of the table: the feature of AFNetworking, its equivalent in Curlew, and its tests.
        let cells: [String]

        /// The tests, as types and functions.
        var tests: [(type: String, function: String)] {
            cells[2].matches(of: /`(\w+)\/(\w+)`/).map { (String($0.1), String($0.2)) }
        }
    }

    private func rows() throws -> [Row] {
        try Repository.text(of: "DocC/Curlew.docc/MigratingFromAFNetworking.md").split(separator: "\n").compactMap {
            let cells = $0.split(separator: "|").map { $0.trimmingPrefix(" ") }
            guard cells.count == 4, let number = Int(cells[0].prefix { $0 != " " }) else { return nil }
            return Row(number: number, cells: cells.dropFirst().map { String($0) })
        }
    }

    @Test("the table lists all features in order, with their equivalents")
    func complete() throws {
        let rows = try rows()
        #expect(rows.map(\.number) == Array(1...72))
        for row in rows { #expect(row.cells.allSatisfy { $0.contains { $0 != " " } }, "row \(row.number)") }
    }

    @Test("every feature has existing tests")
    func tested() throws {
        let sources = try Repository.sources(in: "Tests") + Repository.sources(in: "Examples/Tests")
        let texts = Dictionary(sources.map { ($0.name, $0.text) }) { $0 + $1 }
        for row in try rows() {
            #expect(!row.tests.isEmpty, "row \(row.number)")
            for test in row.tests {
                let isThere = texts["\(test.type).swift"]?.contains("func \(test.function)(")
                #expect(isThere == true, "row \(row.number): there is no test \(test.type)/\(test.function)")
            }
        }
    }
}
