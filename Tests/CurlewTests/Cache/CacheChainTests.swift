import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("A cache in the standard chain", .noLeaks, .timeLimit(.minutes(2)))
struct CacheChainTests {
    @Test("a body is stored encoded, and decoded for each reader")
    func coded() async throws {
        let scene = try await CacheScene(chain: StandardChain.Options()) { request, number in
            var response = try MockResponse.numbered(number, [.cacheControl: "max-age=60", .vary: "Accept-Encoding"])
                .encoded(.gzip)
            response.fields[.server] = request.fields[.acceptEncoding]
            return response
        }
        #expect(try await scene.get() == "200 1 miss")
        #expect(try await scene.get() == "200 1 hit")
        // A request without content codings selects another response.
        var options = RequestOptions()
        options.decodesContent = false
        let plain = try await scene.api.get(.raw(scene.server.url()), options: options)
        #expect(plain.cacheStatus == .miss)
        await plain.discard()
        let entry = try #require(try await scene.cache.store.list(after: nil, count: 1).first)
        #expect(entry.head.headerFields[.contentEncoding] == "gzip")
    }

    @Test("a 401 is not stored, and the answer after its challenge is private to the user")
    func challenge() async throws {
        var options = StandardChain.Options()
        options.authentication = ChallengeAuthentication([]) { _ in .use(.password(user: "u", password: "p")) }
        let scene = try await CacheScene(chain: options) { request, number in
            guard request.fields.contains(.authorization) else {
                return .numbered(number, [.wwwAuthenticate: "Basic realm=x", .cacheControl: "public, max-age=60"], 401)
            }
            return .numbered(number, [.cacheControl: "max-age=60"])
        }
        #expect(try await scene.get() == "200 2 bypass")
        #expect(try await scene.cache.store.contents.entries == 0)
    }

    @Test("a stored 503 does not answer the retries of its request")
    func retried() async throws {
        var options = StandardChain.Options()
        options.retry = quickRetry()
        let scene = try await CacheScene(chain: options) { _, number in
            .numbered(number, [.cacheControl: "max-age=60"], number < 3 ? 503 : 200)
        }
        #expect(try await scene.get() == "200 3 miss")
        #expect(try await scene.get() == "200 3 hit")
    }

    @Test("a cookie of a stored response is not set again")
    func cookies() async throws {
        var options = StandardChain.Options()
        let jar = CookieJar()
        options.cookies = CookieHandling(jar)
        let scene = try await CacheScene(.singleUser, chain: options) { _, number in
            .numbered(number, [.cacheControl: "max-age=60", .setCookie: "a=\(number)"])
        }
        _ = try await scene.get()
        #expect(jar.cookies.map(\.value) == ["1"])
        jar.removeAll()
        #expect(try await scene.get() == "200 1 hit")
        #expect(jar.cookies.isEmpty)
    }

    @Test("each hop of a redirect has its own entry")
    func redirects() async throws {
        let scene = try await CacheScene(chain: StandardChain.Options()) { request, number in
            request.path == "/a"
                ? .numbered(number, [.location: "/b", .cacheControl: "max-age=60"], 301)
                : .numbered(number, [.cacheControl: "max-age=10"])
        }
        #expect(try await scene.get("/a") == "200 2 miss")
        #expect(try await scene.get("/a") == "200 2 hit")
        #expect(try await scene.get("/b") == "200 2 hit")
        scene.clock.advance(20)
        #expect(try await scene.get("/a") == "200 3 miss")
        #expect(scene.server.requestCount == 3)
    }

    @Test("a session without the option has no cache and reports no cache result")
    func without() async throws {
        let server = try await MockServer.start { _ in .numbered(1, [.cacheControl: "max-age=60"]) }
        let api = try HTTPSession(baseURL: server.url(), eventLoops: [CurlewEventLoop(name: "curlew-test")])
        for _ in 0..<2 {
            let response = try await api.get(.raw("/"))
            #expect(response.cacheStatus == nil)
            _ = try await response.body.collect(upTo: 10)
        }
        #expect(server.requestCount == 2)
    }
}
