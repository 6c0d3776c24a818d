import Curlew
import Foundation
import Testing

/// The cases of http-state, which `make test-http-state` fetches.
@Suite("Conformance: cases of http-state", .timeLimit(.minutes(1)))
struct CookieSuiteTests {
    /// The file with the cases.
    private static let path = ProcessInfo.processInfo.environment["CURLEW_HTTP_STATE"]

    /// A case: the Set-Cookie fields of a response, and the cookies of a later request.
    private struct Case: Decodable {
        struct Pair: Decodable, Equatable {
            let name, value: String
        }

        enum CodingKeys: String, CodingKey {
            case test, received, sent
            case target = "sent-to"
        }

        let test: String
        let received: [String]
        let sent: [Pair]
        let target: String?
    }

    /// The cases whose result RFC 6265bis has changed.
    private static let changed: [String: String] = [
        "DISABLED_CHROMIUM0022": "a field with a NUL sets no cookie (§5.6)",
        "DISABLED_CHROMIUM0023": "a field with a CR sets no cookie (§5.6)",
        "DISABLED_PATH0029": "paths are compared as bytes: an escaped letter is another path (§5.1.4)",
        "OPTIONAL_DOMAIN0042": "an empty Domain after another one makes the cookie host-only (§5.6.3)",
    ]

    /// The cookies that the client sends in a case.
    private func pairs(_ testCase: Case) throws -> [Case.Pair] {
        // The cases are of the years until 2011, and their cookies expire before or after that year.
        let jar = CookieJar { 1_300_000_000 }
        let origin = "http://home.example.org:8888"
        let query = testCase.test.lowercased()
        let source = try CurlewURI("\(origin)/cookie-parser?\(query)")
        for field in testCase.received { jar.store(field, from: source) }
        let target = testCase.target ?? "/cookie-parser-result?\(query)"
        let cookies = jar.cookies(for: try CurlewURI(target.hasPrefix("/") ? origin + target : target))
        return cookies.map { Case.Pair(name: $0.name, value: $0.value) }
    }

    @Test("the cookies of each case are sent", .enabled(if: Self.path != nil))
    func cases() throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: try #require(Self.path))))
        let cases = try JSONCoding().decode([Case].self, from: bytes)
        #expect(cases.count == 222)
        var nameless = 0
        for testCase in cases {
            let pairs = try pairs(testCase)
            // RFC 6265bis also stores a cookie without a name (§5.6); the cases are older.
            let named = pairs.filter { !$0.name.isEmpty }
            if named.count < pairs.count { nameless += 1 }
            #expect((named == testCase.sent) == (Self.changed[testCase.test] == nil), "\(testCase.test): \(pairs)")
        }
        #expect(nameless == 23)
    }
}
