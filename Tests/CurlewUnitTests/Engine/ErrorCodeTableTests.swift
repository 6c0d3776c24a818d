import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The documented tables of error codes")
struct ErrorCodeTableTests {
    private let article = "DocC/Curlew.docc/ErrorCodes.md"

    /// The rows of the article's tables whose first cell begins with `prefix`, as cells without markup.
    private func rows(_ prefix: String) throws -> [[String]] {
        try Repository.text(of: article).split(separator: "\n").filter { $0.hasPrefix("| \(prefix)") }.map { row in
            row.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
        }
    }

    @Test("the article lists exactly the libcurl codes of the table, with the same meanings")
    func engineCodes() throws {
        var documented: [UInt32: String] = [:]
        for row in try rows("`CURLE_") {
            try #require(row.count == 4, "\(row)")
            documented[try #require(UInt32(row[1]), "\(row)")] = row[2]
        }
        let table = ErrorCode.table.mapValues { "`\($0)`" }
        for number in Set(documented.keys).union(table.keys).sorted() {
            #expect(documented[number] == table[number], "CURLcode \(number)")
        }
    }

    @Test("the article lists each error code under its name")
    func ourCodes() throws {
        let source = try Repository.text(of: "Sources/CurlewCore/Message/ErrorCode.swift")
        let declared = source.split(separator: "\n").compactMap { line -> String? in
            guard line.contains("public static let") else { return nil }
            let name = line.split(separator: "public static let ")[1].split(separator: " ")[0]
            let value = line.split(separator: "\"")[1]
            return "\(name) `\(value)`"
        }
        let documented = try rows("``ErrorCode/").map { row in
            "\(row[0].dropFirst("``ErrorCode/".count).dropLast(2)) \(row[1])"
        }
        #expect(declared.count > 20)
        #expect(documented.sorted() == declared.sorted())
    }
}
