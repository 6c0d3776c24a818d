import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
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

    private static func cookieScene(
        _ jar: CookieJar, answer: @escaping CacheScene.Answer
    ) async throws -> CacheScene {
        var options = StandardChain.Options()
        options.cookies = CookieHandling(jar)
        return try await CacheScene(.singleUser, chain: options, answer: answer)
    }

    @Test("the cookie of an error that a stale response replaces is kept, and not stored with the response")
    func cookieOfError() async throws {
        let jar = CookieJar()
        let scene = try await Self.cookieScene(jar) { _, number in
            number == 1
                ? .numbered(1, [.cacheControl: "max-age=10, stale-if-error=60"])
                : .numbered(number, [.setCookie: "a=\(number)"], 503)
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        let stale = try await scene.send()
        #expect(stale.description == "200 1 stale")
        #expect(stale.fields[.setCookie] == "a=2")
        #expect(jar.cookies.map(\.value) == ["2"])
        #expect(try await scene.send(.get, "/", policy: .onlyIfCached).fields[.setCookie] == nil)
    }

    @Test("the cookie of a response that the cache rejects is kept", arguments: [false, true])
    func cookieOfRejected(_ isPart: Bool) async throws {
        let jar = CookieJar()
        let scene = try await Self.cookieScene(jar) { request, number in
            switch number {
            case 1 where isPart:
                MockResponse(
                    status: .partialContent,
                    fields: [.eTag: "\"a\"", .contentRange: "bytes 0-0/2", .cacheControl: "max-age=10"],
                    body: .string("1"))
            case 2 where isPart:
                MockResponse(status: .rangeNotSatisfiable, fields: [.setCookie: "a=2"])
            case 2: MockResponse(status: .notModified, fields: [.eTag: "\"other\"", .setCookie: "a=2"])
            default: .numbered(number, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
            }
        }
        _ = try await scene.send(.get, "/", isPart ? [.range: "bytes=0-0"] : [:])
        if !isPart { scene.clock.advance(20) }
        #expect(try await scene.get() == "200 3 miss")
        #expect(jar.cookies.map(\.value) == ["2"])
        #expect(try await scene.send().fields[.setCookie] == nil)
    }

    @Test("the cookie of a background validation is kept, whatever its status", arguments: [200, 304, 503])
    func cookieBehind(_ code: Int) async throws {
        let jar = CookieJar()
        let scene = try await Self.cookieScene(jar) { _, number in
            let fields: HTTPFields = [.eTag: "\"a\"", .cacheControl: "max-age=10, stale-while-revalidate=60"]
            if number == 1 { return .numbered(1, fields) }
            guard code != 304 else { return MockResponse(status: .notModified, fields: fields + [.setCookie: "a=2"]) }
            return .numbered(number, fields + [.setCookie: "a=2"], code)
        }
        #expect(jar.store("a=1", from: try CurlewURI(scene.server.url())))
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        try await eventually("the cookie is kept") { jar.cookies.map(\.value) == ["2"] }
    }

    @Test("the cookie of a background validation is ignored if the jar has other cookies by then")
    func lateCookieBehind() async throws {
        let jar = CookieJar()
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let scene = try await Self.cookieScene(jar) { _, number in
            var fields: HTTPFields = [.cacheControl: "max-age=10, stale-while-revalidate=60"]
            if number > 1 {
                for await _ in ends { break }
                fields[.setCookie] = "a=2"
            }
            return .numbered(number, fields)
        }
        let uri = try CurlewURI(scene.server.url())
        #expect(jar.store("a=1", from: uri))
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        jar.removeAll()
        #expect(jar.store("a=3", from: uri))
        ended.yield()
        try await eventually("the new response is stored") {
            try await scene.get(policy: .onlyIfCached) == "200 2 hit"
        }
        #expect(jar.cookies.map(\.value) == ["3"])
    }

    @Test("the cookie of a background validation is ignored for a request without cookies")
    func noCookieBehind() async throws {
        let jar = CookieJar()
        let scene = try await Self.cookieScene(jar) { _, number in
            var fields: HTTPFields = [.cacheControl: "max-age=10, stale-while-revalidate=60"]
            if number > 1 { fields[.setCookie] = "a=2" }
            return .numbered(number, fields)
        }
        var options = RequestOptions()
        options.usesCookies = false
        for _ in 0..<2 {
            _ = try await scene.api.get(.raw(scene.server.url()), options: options).body.collect(upTo: 10)
            scene.clock.advance(20)
        }
        try await eventually("the new response is stored") {
            try await scene.get(policy: .onlyIfCached) == "200 2 stale"
        }
        #expect(jar.cookies.isEmpty)
    }

    @Test("a response that cannot be decoded does not answer the next request", arguments: [false, true])
    func undecodable(_ isStored: Bool) async throws {
        let scene = try await CacheScene(chain: StandardChain.Options()) { _, number in
            var bytes = try RequestCompression.Format.gzip.compress(Array("\(number)".utf8))
            // The checksum is in the first half of the last eight bytes (RFC 1952 §2.3.1).
            if number == 1 { bytes[bytes.count - 8] ^= 1 }
            return MockResponse(
                fields: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], body: .bytes(bytes))
        }
        if isStored {
            var options = RequestOptions()
            options.decodesContent = false
            _ = try await scene.api.get(.raw(scene.server.url()), options: options).body.collect(upTo: 100)
        }
        let error = await curlewError { _ = try await scene.get() }
        #expect(error?.code == .contentDecodingFailed)
        #expect(try await scene.get() == "200 2 miss")
        #expect(try await scene.get() == "200 2 hit")
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
