import Curlew
import CurlewTesting
import CurlewTestingTraits
import Synchronization
import Testing

/// Cases in which one response changes the next request: redirects, cookies and the cache.
@Suite("Conformance: redirects, cookies and cache", .endsServers, .timeLimit(.minutes(1)))
struct StateTests {
    @Test("testBasicRedirect: a GET follows a permanent redirect", arguments: [301, 308])
    func testBasicRedirect(_ code: Int) async throws {
        try await withClient { http, server in
            server.enqueue(
                MockResponse(status: HTTPResponse.Status(code: code), fields: [.location: "/request"]), MockResponse())
            let response = try await http.get("\(code)")
            #expect(response.status == .ok)
            #expect(try await response.bodyText().isEmpty)
            #expect(await server.takeRequest()?.target == "/\(code)")
            let second = try #require(await server.takeRequest())
            #expect(second.method == .get && second.target == "/request" && second.body.isEmpty)
        }
    }

    @Test("testInfiniteRedirect: redirects without an end are an error")
    func testInfiniteRedirect() async throws {
        let handler: MockServer.Handler = { request in
            let target = request.path == "/redirect_ping" ? "/redirect_pong" : "/redirect_ping"
            return MockResponse(status: .movedPermanently, fields: [.location: target])
        }
        try await withClient(handler: handler) { http, _ in
            #expect(await errorCode { _ = try await http.get("redirect_ping") } == .tooManyRedirects)
        }
    }

    @Test("testBasicCookieSetAndUse: a cookie is sent with the next request")
    func testBasicCookieSetAndUse() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(fields: [.setCookie: "foo=3a7e"]), MockResponse())
            let first = try await http.get("cookie")
            #expect(first.fields[values: .setCookie] == ["foo=3a7e"])
            await first.discard()
            await (try await http.get("request")).discard()
            #expect(await server.takeRequest()?.fields.contains(.cookie) == false)
            #expect(await server.takeRequest()?.fields[values: .cookie] == ["foo=3a7e"])
        }
    }

    /// The server has a counter, which is the entity tag and the body. A request with the current tag gets a 304, and
    /// increments the counter.
    @Test("testETag: a stored response is validated by its entity tag, and has the fields of the 304")
    func testETag() async throws {
        let counter = Mutex(0)
        let state = HTTPField.Name("Cached")!
        let handler: MockServer.Handler = { request in
            counter.withLock { current in
                let tag = String(current)
                guard request.fields[.ifNoneMatch] == tag else {
                    return MockResponse(fields: [.eTag: tag, state: "false"], body: .string(tag))
                }
                current += 1
                return MockResponse(status: .notModified, fields: [.eTag: tag, state: "true"])
            }
        }
        try await withClient(handler: handler) { http, server in
            for number in 0..<3 {
                for state in ["false", "true"] {
                    let response = try await http.get("etag")
                    #expect(response.status == .ok)
                    #expect(response.fields[.eTag] == String(number))
                    #expect(response.fields[HTTPField.Name("Cached")!] == state)
                    #expect(try await response.bodyText() == String(number))
                }
            }
            #expect(server.requestCount == 6)
        }
    }
}
