import TestHelpers
import Testing

@Suite("The code in the documentation")
struct DocumentationTests {
    /// The lines of a text without indentation and without empty ones.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { line in
            let start = line.firstIndex { $0 != " " } ?? line.endIndex
            return String(line[start...])
        }.filter { !$0.isEmpty }
    }

    /// The blocks of Swift code in a text.
    private func blocks(in text: String) -> [[String]] {
        var blocks: [[String]] = []
        var block: [String]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```swift" {
                block = []
            } else if line == "```" {
                if let block { blocks.append(block) }
                block = nil
            } else {
                block?.append(String(line))
            }
        }
        return blocks.map { lines($0.joined(separator: "\n")) }
    }

    private func expectBlocks(of document: String, in snippets: String...) throws {
        let texts = try snippets.map { lines(try Repository.text(of: $0)).joined(separator: "\n") }
        let compiled = "\n" + texts.joined(separator: "\n") + "\n"
        let found = blocks(in: try Repository.text(of: document))
        #expect(!found.isEmpty)
        for block in found {
            let code = block.joined(separator: "\n")
            let isCompiled = compiled.contains("\n" + code + "\n")
            #expect(isCompiled, "\(document) has code that \(snippets) has not:\n\(code)")
        }
    }

    @Test("the README shows code that compiles")
    func readme() throws {
        try expectBlocks(of: "README.md", in: "Tests/CurlewTests/Support/Snippets/ReadmeSnippets.swift")
    }

    @Test("a test runs the code of the recipes")
    func recipes() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Recipes.md", in: "Tests/CurlewTests/Support/Snippets/RecipeSnippets.swift",
            "Tests/CurlewCredentialsTests/Support/Snippets.swift",
            "Tests/CurlewWebSocketsTests/Support/Snippets.swift")
    }

    @Test("the article on WebSockets shows code that compiles")
    func webSockets() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/WebSocket.md", in: "Tests/CurlewWebSocketsTests/Support/Snippets.swift")
    }

    @Test("the article on responses shows code that compiles")
    func responseSerialization() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/ResponseSerialization.md",
            in: "Tests/CurlewTests/Support/Snippets/ResponseSerializationSnippets.swift")
    }

    @Test("the article on the places of links shows code that compiles")
    func links() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/WhichLinkGoesWhere.md",
            in: "Tests/CurlewTests/Support/Snippets/ComparisonSnippets.swift",
            "Tests/CurlewTests/Support/Snippets/ArticleSnippets.swift")
    }

    @Test("the quickstart shows files that compile and tests that pass")
    func quickstart() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Quickstart.md", in: "Tests/CurlewTests/Quickstart/Birds.swift",
            "Tests/CurlewTests/Quickstart/ClientName.swift", "Tests/CurlewTests/Quickstart/BirdsTests.swift")
    }

    @Test(
        "the articles for users of other clients show code that compiles",
        arguments: [
            "ComingFromAlamofire", "ComingFromAsyncHTTPClient", "ComingFromURLSession", "ProductionChecklist",
        ])
    func comparisons(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewTests/Support/Snippets/ComparisonSnippets.swift")
    }

    @Test("the articles show code that compiles", arguments: ["GettingStarted", "Bounds"])
    func articles(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewTests/Support/Snippets/ArticleSnippets.swift")
    }

    @Test(
        "the articles on serialization show code that compiles",
        arguments: ["Serialization", "MigratingFromAFNetworking"])
    func serialization(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewTests/Support/Snippets/SerializationSnippets.swift")
    }

    @Test("the article on JSON shows code that compiles")
    func json() throws {
        try expectBlocks(of: "DocC/Curlew.docc/JSONByItself.md", in: "Tests/CurlewJSONTests/Support/Snippets.swift")
    }

    @Test("the article on load and failure shows code that compiles")
    func load() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/LoadAndFailure.md", in: "Tests/CurlewTests/Support/Snippets/LoadSnippets.swift")
    }

    @Test("the article on HTTP behaviour shows code that compiles")
    func behaviour() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/HTTPBehaviour.md",
            in: "Tests/CurlewTests/Support/Snippets/HTTPBehaviourSnippets.swift")
    }

    @Test(
        "the articles on cookies and content coding show code that compiles",
        arguments: ["CookieHandling", "ContentCoding"])
    func bodies(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewTests/Support/Snippets/CookieSnippets.swift")
    }

    @Test("the article on caching shows code that compiles")
    func caching() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Caching.md", in: "Tests/CurlewTests/Support/Snippets/CacheSnippets.swift",
            "Tests/CurlewStorageTests/Support/Snippets.swift")
    }

    @Test(
        "the articles on transfers that outlive the process show code that compiles",
        arguments: ["TransfersThatOutliveTheProcess", "AFleetsQueue"])
    func durableTransfers(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md",
            in: "Tests/CurlewStorageTests/Support/Snippets.swift")
    }

    @Test("the article on images shows code that compiles")
    func images() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Images.md", in: "Tests/CurlewImagesTests/Support/Snippets.swift")
    }

    @Test(
        "the articles on credentials and signatures show code that compiles",
        arguments: ["Credentials", "OAuth", "Signatures"])
    func credentials(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewCredentialsTests/Support/Snippets.swift")
    }

    @Test("the article on gateways shows code that runs")
    func gateways() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Gateways.md", in: "Examples/Sources/Gateway/GatewayService.swift",
            "Tests/CurlewServiceTests/Forwarding/ForwardedUpgradeTests.swift",
            "Tests/CurlewServiceTests/Forwarding/OpenAPITransportTests.swift")
    }

    @Test("the article on reachability shows code that compiles")
    func reachability() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Reachability.md", in: "Tests/CurlewTests/Support/Snippets/ReachabilitySnippets.swift")
    }

    @Test("the article on security shows code that compiles")
    func security() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Security.md", in: "Tests/CurlewTests/Support/Snippets/SecuritySnippets.swift")
    }

    @Test(
        "the articles on routes and authentication show code that compiles",
        arguments: ["AddressPolicies", "Connections", "Proxies", "Authenticating"])
    func connections(_ name: String) throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/\(name).md", in: "Tests/CurlewTests/Support/Snippets/ConnectionSnippets.swift")
    }

    @Test("the article on origins and addresses shows code that compiles")
    func origins() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/OriginsAndAddresses.md",
            in: "Tests/CurlewTests/Support/Snippets/OriginSnippets.swift")
    }

    @Test("the article on transfers shows code that compiles")
    func transfers() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Transfers.md", in: "Tests/CurlewTests/Support/Snippets/TransferSnippets.swift")
    }

    @Test("the article on resumable uploads shows code that compiles")
    func uploads() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/ResumableUploads.md", in: "Tests/CurlewTests/Support/Snippets/UploadSnippets.swift")
    }

    @Test("the article on testing shows code that is compiled and run")
    func testing() throws {
        try expectBlocks(
            of: "DocC/Curlew.docc/Testing.md", in: "Tests/CurlewTests/Support/Snippets/TestingSnippets.swift")
    }
}
