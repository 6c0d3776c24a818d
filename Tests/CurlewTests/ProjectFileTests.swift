import Foundation
import Testing

/// The files that repeat what another file says: a change of one has to reach the others.
@Suite("Maps, lists and counts in the project's files")
struct ProjectFileTests {
    private func words(_ text: some StringProtocol) -> Set<String> {
        let separators = CharacterSet.whitespacesAndNewlines.union(CharacterSet(charactersIn: ",`"))
        return Set(String(text).components(separatedBy: separators))
    }

    private func packages(_ text: some StringProtocol) -> Set<String> {
        words(text).filter { $0 == "pkg-config" || $0.hasPrefix("lib") && $0.contains("-dev") || $0 == "zlib1g-dev" }
    }

    /// The lines of the map in CONTRIBUTING.md.
    private func map() throws -> [String] {
        let text = try Repository.text(of: "CONTRIBUTING.md")
        let section = try #require(text.components(separatedBy: "\n## Where things are\n").last)
        return section.components(separatedBy: "\n").prefix { !$0.hasPrefix("A room") }.filter { $0.hasPrefix("    ") }
    }

    @Test("the map of CONTRIBUTING has the rooms that there are")
    func rooms() throws {
        let lines = try map()
        let start = try #require(lines.firstIndex { $0.hasPrefix("    Sources/Curlew/") })
        let rooms = lines[(start + 1)...].prefix { $0.hasPrefix("        ") }.compactMap { line in
            line.split(separator: " ").first.map { String($0.dropLast()) }
        }
        #expect(Set(rooms) == (try Repository.folders(in: "Sources/Curlew")))
        #expect(Set(rooms).count == rooms.count)
    }

    @Test("the map of CONTRIBUTING has the modules that there are")
    func modules() throws {
        let text = try map().joined(separator: "\n")
        let named = Set(text.split { !$0.isLetter && !$0.isNumber }.map(String.init))
        for module in try Repository.folders(in: "Sources") { #expect(named.contains(module), "\(module)") }
    }

    @Test("the settings of editors have the traits of the package")
    func traits() throws {
        struct Settings: Decodable {
            struct Package: Decodable { var traits: [String] }
            var swiftPM: Package
        }
        let text = try Repository.text(of: "Package.swift")
        let declared = text.matches(of: /\.trait\(\s*name: "(\w+)"/).map { String($0.1) }
        let settings = try JSONDecoder().decode(
            Settings.self, from: Data(try Repository.text(of: ".sourcekit-lsp/config.json").utf8))
        #expect(declared.count > 4)
        #expect(settings.swiftPM.traits == declared.sorted())
    }

    @Test("the README, the first article and the Makefile name the same packages of Debian")
    func debianPackages() throws {
        let readme = try Repository.text(of: "README.md")
        let article = try Repository.text(of: "DocC/Curlew.docc/GettingStarted.md")
        let make = try Repository.text(of: "Makefile")
        let line = try #require(make.split(separator: "\n").first { $0.hasPrefix("PACKAGES = ") })
        let start = try #require(readme.range(of: "the build needs `"))
        let needed = packages(readme[start.upperBound...].prefix { $0 != "`" })
        #expect(needed.count > 5)
        #expect(packages(article) == needed)
        #expect(packages(readme) == packages(line))
    }

    @Test("the changelog has the number of public names at the top level")
    func publicNames() throws {
        let declaration = #/^public (final |indirect )?(struct|class|enum|actor|protocol|typealias) /#
        // Those of CurlewJSON are names of Curlew, too.
        let sources = try Repository.sources(in: "Sources/Curlew") + Repository.sources(in: "Sources/CurlewJSON")
        let count = sources.reduce(0) { count, source in
            count + source.text.split(separator: "\n").filter { $0.prefixMatch(of: declaration) != nil }.count
        }
        let changelog = try Repository.text(of: "CHANGELOG.md")
        let written = try #require(changelog.firstMatch(of: /(\d+) public names at the top level/))
        #expect(Int(written.1) == count)
    }
}
