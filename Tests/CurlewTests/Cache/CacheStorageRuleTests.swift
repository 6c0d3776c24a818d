import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// RFC 9111 §3, as functions of a request and a response.
@Suite("Responses that may be stored")
struct CacheStorageRuleTests {
    private func entry(
        _ code: Int = 200, _ fields: HTTPFields = [:], asked: HTTPFields = [:], _ mode: HTTPCache.Mode = .private,
        method: HTTPRequest.Method = .get, partition: String? = nil
    ) throws -> HTTPCache.Entry? {
        let uri = try CurlewURI("http://example.com/a?b")
        var request = CurlewRequest(method, uri, fields: asked)
        request.options.cachePartition = partition
        let judge = CacheJudge(mode: mode, heuristicLimit: 86_400, servesStaleOnFailure: false)
        let response = CurlewResponse(.init(code: code), fields: fields, uri: uri)
        let seen = CacheRequest(request, at: 1_800_000_000)
        return judge.entry(for: response, to: seen, sent: seen.credentials, at: 1_800_000_001)
    }

    @Test(
        "§3, RFC 9110 §15.1: statuses that are cacheable by default are stored without explicit freshness",
        arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
    func heuristicStatuses(_ code: Int) throws {
        #expect(try entry(code) != nil)
        #expect(try entry(code, [.cacheControl: "no-store"]) == nil)
    }

    @Test(
        "§3: other statuses are stored only with explicit freshness",
        arguments: [201, 202, 299, 302, 303, 307, 400, 403, 418, 429, 500, 502, 503, 504, 599])
    func explicitStatuses(_ code: Int) throws {
        #expect(try entry(code) == nil)
        #expect(try entry(code, [.cacheControl: "max-age=60"]) != nil)
        #expect(try entry(code, [.expires: "Fri, 31 Dec 9999 23:59:59 GMT"]) != nil)
        #expect(try entry(code, [.cacheControl: "public"]) != nil)
        #expect(try entry(code, [.cacheControl: "private"]) != nil)
        #expect(try entry(code, [.cacheControl: "private"], .shared) == nil)
        #expect(try entry(code, [.cacheControl: "s-maxage=60"]) == nil)
        #expect(try entry(code, [.cacheControl: "s-maxage=60"], .shared) != nil)
    }

    @Test("challenges, 304 and 416 are never stored", arguments: [304, 401, 407, 416])
    func neverStored(_ code: Int) throws {
        #expect(try entry(code, [.cacheControl: "public, max-age=60"]) == nil)
    }

    @Test(
        "§3: only responses to GET are stored, and only if the request has no no-store",
        arguments: [HTTPRequest.Method.head, .post, .put, .delete, .options, .patch])
    func methods(_ method: HTTPRequest.Method) throws {
        #expect(try entry(200, [.cacheControl: "max-age=60"], method: method) == nil)
        #expect(try entry(200, asked: [.cacheControl: "no-store"]) == nil)
    }

    @Test("§5.2.2.3: must-understand precedes no-store, for understood statuses")
    func mustUnderstand() throws {
        #expect(try entry(200, [.cacheControl: "no-store, must-understand, max-age=60"]) != nil)
        #expect(try entry(299, [.cacheControl: "must-understand, max-age=60"]) == nil)
    }

    @Test("§5.2.2.7: private keeps a response from a shared cache, and with names only the named fields")
    func privacy() throws {
        #expect(try entry(200, [.cacheControl: "private"], .shared) == nil)
        #expect(try entry(200, [.cacheControl: "private"]) != nil)
        let named: HTTPFields = [.cacheControl: "private=\"X-User, etag\", max-age=60", .eTag: "\"a\"", .server: "s"]
        let shared = try #require(try entry(200, named, .shared))
        #expect(shared.head.headerFields[.eTag] == nil)
        #expect(shared.head.headerFields[.server] == "s")
        #expect(try entry(200, named)?.head.headerFields[.eTag] == "\"a\"")
        // A malformed directive is applied in its strictest form.
        #expect(try entry(200, [.cacheControl: "private=\"a b\""], .shared) == nil)
    }

    @Test("§5.2.2.4: fields named by no-cache are not stored")
    func noCacheNames() throws {
        let entry = try #require(try entry(200, [.cacheControl: "no-cache=\"server\", max-age=60", .server: "s"]))
        #expect(entry.head.headerFields[.server] == nil)
    }

    @Test("§3.5: a shared cache stores responses to requests with Authorization only if they allow it")
    func authorization() throws {
        let asked: HTTPFields = [.authorization: "Bearer secret"]
        #expect(try entry(200, [.cacheControl: "max-age=60"], asked: asked, .shared) == nil)
        for word in ["public", "must-revalidate", "s-maxage=60"] {
            #expect(try entry(200, [.cacheControl: "max-age=60, \(word)"], asked: asked, .shared) != nil)
        }
        #expect(try entry(200, [.cacheControl: "max-age=60"], asked: asked, .singleUser) != nil)
        #expect(try entry(200, [.cacheControl: "max-age=60"], asked: asked) == nil)
        #expect(try entry(200, [.cacheControl: "max-age=60"], asked: asked, partition: "7") != nil)
        #expect(try entry(200, [.cacheControl: "public"], asked: [.cookie: "a=1"], .shared) == nil)
    }

    @Test("a response with a cookie is stored in a shared cache only if public, and never with the cookie")
    func setCookie() throws {
        #expect(try entry(200, [.setCookie: "a=1"]) == nil)
        #expect(try entry(200, [.setCookie: "a=1"], .shared) == nil)
        for stored in [
            try entry(200, [.setCookie: "a=1", .cacheControl: "public"]),
            try entry(200, [.setCookie: "a=1"], .singleUser),
            try entry(200, [.setCookie: "a=1"], partition: "7"),
        ] {
            #expect(stored != nil)
            #expect(stored?.head.headerFields[.setCookie] == nil)
        }
    }

    @Test("§3.1: hop-by-hop fields are not stored, nor fields that Connection names")
    func connectionFields() throws {
        let fields: HTTPFields = [
            .connection: "close, X-Hop", .proxyAuthenticate: "Basic", .upgrade: "h2c", .server: "s",
            HTTPField.Name("X-Hop")!: "1", HTTPField.Name("Keep-Alive")!: "5", .contentType: "text/plain",
        ]
        let entry = try #require(try entry(200, fields))
        #expect(Set(entry.head.headerFields.map(\.name)) == [.server, .contentType])
    }

    @Test("§4.1: a response whose Vary has an asterisk, no name or too many names is not stored")
    func vary() throws {
        #expect(try entry(200, [.vary: "*"]) == nil)
        #expect(try entry(200, [.vary: "accept, *"]) == nil)
        #expect(try entry(200, [.vary: "a b"]) == nil)
        #expect(try entry(200, [.vary: (0..<33).map { "x\($0)" }.joined(separator: ",")]) == nil)
        #expect(try entry(200, [.vary: "accept"], asked: [.accept: String(repeating: "a", count: 17 << 10)]) == nil)
        let stored = try #require(try entry(200, [.vary: "Accept, ,accept-encoding"], asked: [.accept: "a ,  b"]))
        #expect(
            stored.selectors == [
                .init(name: "accept", value: "a,b"), .init(name: "accept-encoding", value: nil),
            ])
    }

    @Test("a secret field in Vary is stored as its hash")
    func secretSelector() throws {
        let stored = try #require(
            try entry(200, [.vary: "Cookie"], asked: [.cookie: "session=secret"], .singleUser))
        let value = try #require(stored.selectors.first?.value)
        #expect(value.count == 64)
        #expect(!String(decoding: stored.encoded, as: UTF8.self).contains("secret"))
    }

    @Test("§3.3: a part is stored only with a strong validator, one range and the complete length")
    func parts() throws {
        let good: HTTPFields = [.contentRange: "bytes 0-4/10", .eTag: "\"a\""]
        #expect(try entry(206, good)?.range == 0..<5)
        #expect(try entry(206, [.contentRange: "bytes 0-4/10", .eTag: "W/\"a\""]) == nil)
        #expect(try entry(206, [.contentRange: "bytes 0-4/*", .eTag: "\"a\""]) == nil)
        #expect(try entry(206, [.contentType: "multipart/byteranges; boundary=x", .eTag: "\"a\""]) == nil)
    }
}
