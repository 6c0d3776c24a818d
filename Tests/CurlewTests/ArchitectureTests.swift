import Foundation
import TestHelpers
import Testing

@testable import CurlewCore

/// The dependencies between the modules, and between the folders of the library ("rooms"): as drawn in the article
/// Architecture, and as found in the manifest and in the sources.
@Suite("Dependencies between the folders of the library")
struct ArchitectureTests {
    /// The names in the first cell of each row of an article's table, with the names in its last cell.
    /// - Parameter heading: The heading of the section that has the table.
    private func drawn(_ heading: String) throws -> [String: Set<String>] {
        let article = try Repository.text(of: "DocC/Curlew.docc/Architecture.md")
        let section = try #require(article.components(separatedBy: "\n## \(heading)\n").last)
        func names(_ cell: String) -> [String] {
            cell.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
                .filter { $0 != "–" }
        }
        var drawn: [String: Set<String>] = [:]
        for line in section.split(separator: "\n").prefix(while: { !$0.hasPrefix("## ") }) where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require((2...3).contains(cells.count), "\(line)")
            for name in names(cells[0]) {
                #expect(drawn[name] == nil, "\(name) has two rows")
                drawn[name] = Set(names(cells[cells.count - 1]))
            }
        }
        return drawn
    }

    /// The modules of Curlew that each of them depends on, from the manifest.
    private func declared() throws -> [String: Set<String>] {
        var declared: [String: Set<String>] = [:]
        // A target begins with eight spaces and a dot; its arguments are indented further.
        for target in try Repository.text(of: "Package.swift").components(separatedBy: "\n        .")
        where target.hasPrefix("target(") {
            guard let name = target.firstMatch(of: /name: "(\w+)"/)?.1, name.hasPrefix("Curlew") else { continue }
            let names = target.matches(of: /"(Curlew\w*)"/).map { String($0.1) }
            declared[String(name)] = Set(names).subtracting([String(name)])
        }
        return declared
    }

    /// The modules of Curlew that the files of a module import.
    private func imported(by module: String) throws -> Set<String> {
        var imported: Set<String> = []
        for path in try Repository.swiftFiles(under: "Sources/\(module)") {
            let text = try "\n" + Repository.text(of: path)
            imported.formUnion(text.matches(of: /\n(?:[@\w]+ )*import (Curlew\w*)/).map { String($0.1) })
        }
        return imported
    }

    @Test("the table of modules agrees with the targets of the package")
    func modules() throws {
        let declared = try declared()
        #expect(Set(declared.keys) == (try Repository.folders(in: "Sources").filter { $0.hasPrefix("Curlew") }))
        #expect(try drawn("The modules") == declared.mapValues { $0.subtracting(["CurlewPlatform"]) })
    }

    @Test("a module only imports the modules of its row in the table")
    func imports() throws {
        for (module, row) in try drawn("The modules") {
            #expect(try imported(by: module).subtracting(["CurlewPlatform"]) == row, "\(module)")
        }
    }

    @Test("only the module of the platform imports the C library")
    func platform() throws {
        let library = /\n(?:[@\w]+ )*import (?:Android|Darwin|Glibc|Musl)\b/
        let files = try Repository.swiftFiles(under: "Sources")
            .filter { try ("\n" + Repository.text(of: $0)).contains(library) }
        #expect(files == ["Sources/CurlewPlatform/Platform.swift"])
        for (module, names) in try declared() {
            #expect(
                try imported(by: module).contains("CurlewPlatform") == names.contains("CurlewPlatform"), "\(module)")
        }
    }

    @Test("a folder only uses types of the folders that its arrows lead to")
    func arrows() throws {
        let drawn = try drawn("The rooms")
        let sources = try Repository.sources(in: "Sources/CurlewCore")
        #expect(sources.count > 100)
        #expect(Set(sources.map(\.room)) == Set(drawn.keys))
        for arrow in RoomGraph(sources).arrows where drawn[arrow.from]?.contains(arrow.to) != true {
            Issue.record("\(arrow.file) of \(arrow.from) names \(arrow.type) of \(arrow.to)")
        }
    }

    @Test("the arrows lead down: no folder depends on itself")
    func tree() throws {
        var drawn = try drawn("The rooms")
        while let leaf = drawn.first(where: { $0.value.isEmpty })?.key {
            drawn[leaf] = nil
            for room in drawn.keys { drawn[room]?.remove(leaf) }
        }
        #expect(drawn.isEmpty, "these rooms lead to each other: \(drawn)")
    }

    @Test("an undeclared dependency is reported with its file and type")
    func finding() {
        let graph = RoomGraph([
            SourceFile(
                room: "Below", name: "Stone.swift", text: "public struct Stone {}\nextension Stone { struct Grain {} }"),
            SourceFile(room: "Above", name: "Roof.swift", text: "struct Roof { var stone: Stone }"),
            SourceFile(
                room: "Above", name: "Tile.swift", text: "// Stone\nlet tile = \"Stone \\(1)\"; let a = Wall.Stone"),
            SourceFile(room: "Below", name: "Sand.swift", text: "extension Roof { enum Slope {} }"),
            SourceFile(
                room: "Above", name: "Heap.swift",
                text: "let grains = [Stone.Grain]()\nlet text = \"\\(Roof.Slope.self)\""),
        ])
        #expect(
            Set(graph.arrows) == [
                .init(from: "Above", to: "Below", file: "Roof.swift", type: "Stone"),
                .init(from: "Below", to: "Above", file: "Sand.swift", type: "Roof"),
                .init(from: "Above", to: "Below", file: "Heap.swift", type: "Stone"),
                .init(from: "Above", to: "Below", file: "Heap.swift", type: "Stone.Grain"),
                .init(from: "Above", to: "Below", file: "Heap.swift", type: "Roof.Slope"),
            ])
    }
}

/// The types of other rooms that the files of a room use. The graph is built from words, without Swift's syntax:
/// members of extensions from another room are invisible, unless they are types.
struct RoomGraph {
    struct Arrow: Hashable {
        let from: String
        let to: String
        let file: String
        let type: String
    }

    let arrows: [Arrow]

    init(_ sources: [SourceFile]) {
        let words = sources.map { Words($0.text) }
        var rooms: [String: Set<String>] = [:]
        for (source, words) in zip(sources, words) {
            for type in words.declared { rooms[type, default: []].insert(source.room) }
        }
        var arrows: [Arrow] = []
        for (source, words) in zip(sources, words) {
            for type in words.named.sorted() {
                // A name that exists in two rooms identifies neither.
                guard let owners = rooms[type], owners.count == 1, let owner = owners.first, owner != source.room
                else { continue }
                arrows.append(Arrow(from: source.room, to: owner, file: source.name, type: type))
            }
        }
        self.arrows = arrows
    }

    /// The types that a file declares and uses.
    private struct Words {
        /// The types at the top level of the file, and those at the top level of an extension as `Owner.Type`.
        var declared: Set<String> = []
        /// The capitalized words without a dot before them, and the pairs `Owner.Type` that begin with one.
        var named: Set<String> = []

        private static let keywords: Set<String> = [
            "struct", "class", "enum", "actor", "protocol", "typealias", "associatedtype",
        ]

        init(_ text: String) {
            let tokens = Words.tokens(of: Array(text.utf8))
            var depth = 0
            var isPrivate = false
            var owner: String?
            var nested: Set<String> = []
            for (index, token) in tokens.enumerated() {
                switch token {
                case "{": depth += 1
                case "}":
                    depth -= 1
                    if depth == 0 { owner = nil }
                case "private", "fileprivate": isPrivate = true
                case "extension" where depth == 0:
                    owner = Words.path(tokens, from: index + 1)
                case _ where Words.keywords.contains(token):
                    guard index + 1 < tokens.count, Words.isType(tokens[index + 1]) else { break }
                    if depth > 0 { nested.insert(tokens[index + 1]) }
                    if depth == 0, !isPrivate { declared.insert(tokens[index + 1]) }
                    if depth == 1, let owner, !isPrivate { declared.insert("\(owner).\(tokens[index + 1])") }
                    isPrivate = false
                case "func", "var", "let", "init", "case": isPrivate = false
                default:
                    guard Words.isType(token), index == 0 || tokens[index - 1] != "." else { break }
                    named.insert(token)
                    if index + 2 < tokens.count, tokens[index + 1] == ".", Words.isType(tokens[index + 2]) {
                        named.insert("\(token).\(tokens[index + 2])")
                    }
                }
            }
            // In the file of a nested type, its short name means this type and no other type of that name.
            named.subtract(nested)
        }

        private static func isType(_ token: String) -> Bool {
            token.utf8.first.map { (0x41...0x5A).contains($0) } ?? false
        }

        private static func path(_ tokens: [String], from start: Int) -> String? {
            guard start < tokens.count, isType(tokens[start]) else { return nil }
            return tokens[start]
        }

        /// The words, dots and braces of the text without comments, and of strings only their interpolations.
        private static func tokens(of bytes: [UInt8]) -> [String] {
            var tokens: [String] = []
            var index = 0
            /// For each enclosing interpolation: the number of open parentheses, and the quote that ends its string.
            var interpolations: [(open: Int, quote: [UInt8])] = []

            func follows(_ text: StaticString, at place: Int) -> Bool {
                text.withUTF8Buffer { text in bytes[place...].starts(with: text) }
            }

            func skipString(_ quote: [UInt8]) {
                while index < bytes.count {
                    if bytes[index...].starts(with: quote) {
                        index += quote.count
                        return
                    }
                    if bytes[index] == UInt8(ascii: "\\") {
                        if index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "(") {
                            index += 2
                            interpolations.append((0, quote))
                            return
                        }
                        index += 1
                    }
                    index += 1
                }
            }

            while index < bytes.count {
                let byte = bytes[index]
                switch byte {
                case UInt8(ascii: "/") where follows("//", at: index):
                    while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
                case UInt8(ascii: "\""):
                    let quote = Array((follows("\"\"\"", at: index) ? "\"\"\"" : "\"").utf8)
                    index += quote.count
                    skipString(quote)
                case UInt8(ascii: "(") where !interpolations.isEmpty:
                    interpolations[interpolations.count - 1].open += 1
                    index += 1
                case UInt8(ascii: ")") where !interpolations.isEmpty:
                    index += 1
                    if interpolations[interpolations.count - 1].open == 0 {
                        skipString(interpolations.removeLast().quote)
                    } else {
                        interpolations[interpolations.count - 1].open -= 1
                    }
                case UInt8(ascii: "."), UInt8(ascii: "{"), UInt8(ascii: "}"):
                    // Three dots are an operator, which a type may follow.
                    if byte == UInt8(ascii: "."), follows("..", at: index) {
                        while index < bytes.count,
                            bytes[index] == UInt8(ascii: ".") || bytes[index] == UInt8(ascii: "<")
                        {
                            index += 1
                        }
                    } else {
                        tokens.append(String(decoding: [byte], as: UTF8.self))
                        index += 1
                    }
                case _ where byte.isWord:
                    let start = index
                    while index < bytes.count, bytes[index].isWord { index += 1 }
                    tokens.append(String(decoding: bytes[start..<index], as: UTF8.self))
                default: index += 1
                }
            }
            return tokens
        }
    }
}

extension UInt8 {
    fileprivate var isWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
