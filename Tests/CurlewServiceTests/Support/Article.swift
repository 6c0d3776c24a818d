#if Service
import Foundation
import Testing

/// An article of the documentation.
struct Article {
    private static let root = String(#filePath.dropLast("/Tests/CurlewServiceTests/Support/Article.swift".count))
    let text: String

    init(_ name: String) throws { text = try Self.text(of: "DocC/Curlew.docc/\(name).md") }

    private static func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// The rows of the tables of a section, without their heads.
    func rows(of section: String) throws -> [String] {
        let section = try #require(text.components(separatedBy: "\n## \(section)\n").last)
        return section.split(separator: "\n").map(String.init).prefix { !$0.hasPrefix("## ") }
            .filter { $0.hasPrefix("| `") }
    }

    /// Expects the code of the article among the compiled snippets.
    func expectCompiled(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let lines = { (text: String) in
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
                .joined(separator: "\n")
        }
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(!blocks.isEmpty, sourceLocation: sourceLocation)
        let compiled = lines(try Self.text(of: "Tests/CurlewServiceTests/Support/Snippets.swift"))
        for block in blocks {
            #expect(compiled.contains(lines(block)), "\(block)", sourceLocation: sourceLocation)
        }
    }
}
#endif
