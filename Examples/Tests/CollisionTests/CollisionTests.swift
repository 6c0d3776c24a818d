import FoundationEssentials
import Testing

/// Files with a server's routes import Curlew too, so its names must not collide with those of a server framework.
@Suite("Public names beside those of a server framework")
struct CollisionTests {
    @Test("every public name of Curlew is used unqualified in a file that compiles")
    func everyName() throws {
        let used = try lines(of: "Examples/Tests/CollisionTests/EveryName.swift").compactMap { line -> String? in
            let words = line.split(separator: " ")
            if words.first == "extension" { return String(words[1]) }
            // The format of a line is `private typealias A = Name<…>`.
            return line.hasPrefix("private typealias ") ? words[4].split(separator: "<").first.map(String.init) : nil
        }
        #expect(Set(used).count == used.count)
        #expect(try Set(used) == publicNames())
    }

    @Test("no public name of Curlew is also a public name of Vapor")
    func vapor() throws {
        let names = try lines(of: "Examples/Tests/CollisionTests/VaporNames.txt").filter { !$0.hasPrefix("#") }
        #expect(names.count > 200)
        #expect(try publicNames().isDisjoint(with: names))
    }

    /// The public declarations at the beginning of lines in Curlew's sources; nested types are indented.
    private func publicNames() throws -> Set<String> {
        let kinds: Set<Substring> = ["struct", "class", "actor", "enum", "protocol", "typealias"]
        var files: [String] = []
        let modules = [
            "CurlewCache", "CurlewCore", "CurlewCredentials", "CurlewImages", "CurlewJSON", "CurlewLoad",
            "CurlewService", "CurlewTransfers", "CurlewWebSockets",
        ]
        for module in modules.map({ "Sources/\($0)" }) {
            // ServiceTrait.swift and ImagesTrait.swift list the names that need the traits.
            files += try FileManager.default.subpathsOfDirectory(atPath: "\(Self.root)/\(module)")
                .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("Trait.swift") }.map { "\(module)/\($0)" }
        }
        var names: Set<String> = []
        for file in files {
            for line in try lines(of: file) where line.hasPrefix("public ") {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                guard let index = words.firstIndex(where: kinds.contains), index + 1 < words.count else { continue }
                names.insert(String(words[index + 1]))
            }
        }
        #expect(names.count > 50)
        return names
    }

    private static let root = String(#filePath.dropLast("/Examples/Tests/CollisionTests/CollisionTests.swift".count))

    private func lines(of path: String) throws -> [String] {
        try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
