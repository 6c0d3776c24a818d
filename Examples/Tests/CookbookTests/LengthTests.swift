import Foundation
import Testing

@Suite("The lengths of the cookbook's programs")
struct LengthTests {
    /// The files of the programs, and the greatest number of lines of each. The number is the length of the program
    /// before the verbs of the session were simplified, or its length when it was added.
    static let limits: KeyValuePairs = [
        "RESTClient": 53, "SharedToken": 36, "Uploads": 27, "CheckedDownload": 34, "Chat": 32, "Webhooks": 34,
        "Crawler": 49, "JoinedServices": 84, "MutualTLS": 25, "OfflineCache": 29, "OwnTests": 83, "LoginForm": 19,
        "LineExport": 28, "SignedRequests": 43, "DurableQueue": 39, "GraphQL": 28, "PlainScript": 23,
        "FromAFNetworking": 40, "ClientCredentials": 29, "ObjectStorage": 37, "MessageSignatures": 24,
    ]

    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let programs = tests.appending(path: "../../Sources/Cookbook").standardized

    @Test("a program has at most the lines of its row", arguments: limits.map { ($0.key, $0.value) })
    func lines(_ name: String, _ limit: Int) throws {
        let folder = name == "OwnTests" ? Self.tests : Self.programs
        let text = try String(contentsOf: folder.appending(path: "\(name).swift"), encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().count <= limit)
    }

    @Test("each file of the cookbook has a row")
    func rows() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.programs.path)
        let known = Self.limits.map { "\($0.key).swift" }.filter { $0 != "OwnTests.swift" }
        #expect(names.sorted() == known.sorted())
    }
}
