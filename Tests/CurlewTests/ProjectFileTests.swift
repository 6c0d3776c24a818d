import Foundation
import TestHelpers
import Testing

/// Files that repeat the contents of others: a change of one must reach the others.
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

    @Test("the map of CONTRIBUTING lists the existing folders of the library")
    func rooms() throws {
        let lines = try map()
        let start = try #require(lines.firstIndex { $0.hasPrefix("    Sources/CurlewCore/") })
        let rooms = lines[(start + 1)...].prefix { $0.hasPrefix("        ") }.compactMap { line in
            line.split(separator: " ").first.map { String($0.dropLast()) }
        }
        #expect(Set(rooms) == (try Repository.folders(in: "Sources/CurlewCore")))
        #expect(Set(rooms).count == rooms.count)
    }

    @Test("the map of CONTRIBUTING lists the existing modules")
    func modules() throws {
        let text = try map().joined(separator: "\n")
        let named = Set(text.split { !$0.isLetter && !$0.isNumber }.map(String.init))
        for module in try Repository.folders(in: "Sources") { #expect(named.contains(module), "\(module)") }
    }

    @Test("the editor settings list the traits of the package")
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

    @Test("the README, the first article and the Makefile name the same Debian packages")
    func debianPackages() throws {
        let readme = try Repository.text(of: "README.md")
        let article = try Repository.text(of: "DocC/Curlew.docc/GettingStarted.md")
        let dependencies = try Repository.text(of: "DocC/Curlew.docc/Dependencies.md")
        let make = try Repository.text(of: "Makefile")
        let line = try #require(make.split(separator: "\n").first { $0.hasPrefix("PACKAGES = ") })
        let start = try #require(readme.range(of: "the build needs `"))
        let needed = packages(readme[start.upperBound...].prefix { $0 != "`" })
        #expect(needed.count > 5)
        #expect(packages(article) == needed)
        #expect(needed.union(packages(dependencies)) == packages(line))
    }

    @Test("the container is built with the packages of the Makefile, and runs with those of the README")
    func container() throws {
        let make = try Repository.text(of: "Makefile")
        let line = try #require(make.split(separator: "\n").first { $0.hasPrefix("PACKAGES = ") })
        let stages = try Repository.text(of: "Dockerfile").components(separatedBy: "\nFROM ")
        #expect(stages.count == 4)
        #expect(packages(stages[1]) == packages(line))
        // The last stage has programs and libraries, without headers and tools.
        #expect(packages(stages[3]).isEmpty && !stages[3].hasPrefix("swift"))
        let readme = try Repository.text(of: "README.md")
        let start = try #require(readme.range(of: "a container that runs the program `"))
        let needed = words(readme[start.upperBound...].prefix { $0 != "`" })
        #expect(needed.count > 5 && needed.isSubset(of: words(stages[3])))
    }

    @Test("the development container is the build stage of the Dockerfile")
    func developmentContainer() throws {
        struct Settings: Decodable {
            struct Build: Decodable { let dockerfile, target, context: String }
            let build: Build
        }
        let text = try Repository.text(of: ".devcontainer/devcontainer.json")
        let build = try JSONDecoder().decode(Settings.self, from: Data(text.utf8)).build
        let stage = try Repository.text(of: ".devcontainer/\(build.dockerfile)").firstMatch(of: /FROM \S+ AS (\w+)/)
        #expect(stage.map { String($0.1) } == build.target)
        #expect(build.context == "..")
    }

    @Test("the package index documents modules of products")
    func packageIndex() throws {
        let manifest = try Repository.text(of: "Package.swift")
        let index = try Repository.text(of: ".spi.yml")
        let list = try #require(index.firstMatch(of: /documentation_targets: \[(.*)\]/))
        for target in list.1.split(separator: ", ") {
            let isInProduct = manifest.split(separator: "\n").contains { line in
                line.contains(".library(name:") && line.contains("\"\(target)\"")
            }
            #expect(isInProduct, "\(target)")
        }
    }

    @Test("a build on another platform ends with a sentence that names the development container")
    func platform() throws {
        let text = try Repository.text(of: "Sources/CurlewPlatform/Platform.swift")
        let sentence = try #require(
            text.firstMatch(of: /#if os\(Linux\)\n.*\n#else\n#error\(".* (\S+)\."\)\n#endif\n$/))
        #expect(try !Repository.text(of: String(sentence.1)).isEmpty)
    }

    @Test("the workflows test two versions of Swift and two of Debian, by targets of the Makefile")
    func workflows() throws {
        let make = try Repository.text(of: "Makefile")
        var commands: Set<String> = []
        var images: Set<String> = []
        for path in ["ci", "debian13", "nightly"].map({ ".github/workflows/\($0).yml" }) {
            let text = try Repository.text(of: path)
            #expect(!text.contains("on: [push"), "\(path): a push to the branch of a pull request runs once")
            let targets = text.firstMatch(of: /target: \[(.*?)\]/)?.1.components(separatedBy: ", ") ?? []
            #expect(text.split(separator: "\n").count <= 12, "\(path)")
            for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                if line.hasPrefix("- run: ") {
                    let command = String(line.dropFirst(7))
                    let place = "${{ matrix.target }}"
                    let isOne = !command.contains(place)
                    commands.formUnion(isOne ? [command] : targets.map { command.replacing(place, with: $0) })
                }
                images.formUnion(line.matches(of: /swift:[\w.-]+/).map { String($0.0) })
                #expect(!line.hasPrefix("run:"), "\(path): a step has one line")
            }
        }
        let safe = "git config --global --add safe.directory '*'"
        let night = ["make test-address", "make test-thread", "make soak SECONDS=600", "make test-crash"]
        #expect(
            commands
                == Set([".ci/run", ".ci/setup make", safe, "make test-debian13", "make test-newest"]).union(night))
        let manifest = try Repository.text(of: "Package.swift")
        let oldest = try #require(manifest.prefixMatch(of: /\/\/ swift-tools-version: (\S+)/))
        #expect(images.count == 2 && images.contains("swift:\(oldest.1)-bookworm"))
        for command in commands where command.hasPrefix("make ") {
            let target = command.split(separator: " ")[1]
            #expect(make.contains("\n\(target):"), "\(target)")
        }
    }

    @Test("each unchecked conformance to Sendable has its reason in the comment above it")
    func uncheckedConformances() throws {
        var count = 0
        for path in try Repository.swiftFiles(under: "Sources") {
            let lines = try Repository.text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            for (index, line) in lines.enumerated() where line.contains("@unchecked Sendable") {
                guard !line.hasPrefix("//") else { continue }
                let above = lines[..<index].reversed().prefix { $0.hasPrefix("///") || $0.hasPrefix("@") }
                #expect(above.contains { $0.contains("nchecked") }, "\(path):\(index + 1)")
                count += 1
            }
        }
        #expect(count > 20)
    }

    @Test("the article on conformance lists the cases that are tests")
    func conformance() throws {
        let article = try Repository.text(of: "DocC/Curlew.docc/Conformance.md")
        let rows = article.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.contains("| test") }
        var listed: [String: Set<String>] = [:]
        for row in rows {
            let names = row.matches(of: /\w+/).map { String($0.0) }
            listed[names[0]] = Set(names.dropFirst())
        }
        var tests: [String: Set<String>] = [:]
        let paths = try Repository.swiftFiles(under: "Examples/Tests/ConformanceTests")
        for path in paths where path.hasSuffix("Tests.swift") {
            let source = try Repository.text(of: path)
            let names = source.matches(of: /@Test\("(\w+): [^\n]*\n    func (\w+)\(/)
            guard !names.isEmpty else { continue }
            for name in names { #expect(name.1 == name.2, "\(path)") }
            let file = try #require(path.split(separator: "/").last?.split(separator: ".").first)
            tests[String(file)] = Set(names.map { String($0.2) })
        }
        #expect(listed == tests)
        #expect(tests.values.reduce(0) { $0 + $1.count } == 39)
    }

    @Test("the changelog has the right number of public top-level names")
    func publicNames() throws {
        let declaration = #/^public (final |indirect )?(struct|class|enum|actor|protocol|typealias) /#
        // Curlew exports the names of these modules.
        let files = try ["Cache", "Core", "JSON", "Load", "Transfers"].flatMap {
            try Repository.swiftFiles(under: "Sources/Curlew\($0)")
        }
        let count = try files.reduce(0) { count, file in
            let lines = try Repository.text(of: file).split(separator: "\n")
            return count + lines.filter { $0.prefixMatch(of: declaration) != nil }.count
        }
        let changelog = try Repository.text(of: "CHANGELOG.md")
        let written = try #require(changelog.firstMatch(of: /(\d+) public names at the top level/))
        #expect(Int(written.1) == count)
    }
}
