import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

/// The first of two texts that are equivalent in Unicode but different for servers: é as one scalar and as two.
private let composed = "caf\u{E9}"
private let decomposed = "cafe\u{301}"

@Suite("Bytewise comparison of text from users and peers", .noLeaks, .timeLimit(.minutes(2)))
struct ByteComparisonTests {
    private static let user = HTTPField.Name("X-User")!

    @Test("values are equal only if their bytes are")
    func values() throws {
        #expect(composed == decomposed)
        let proxy = try Proxy("http://proxy.test")
        #expect(
            try proxy.authenticated(user: composed, password: "p")
                != proxy.authenticated(user: decomposed, password: "p"))
        #expect(Credential.password(user: composed, password: "") != .password(user: decomposed, password: ""))
        #expect(Credential.password(user: "", password: composed) != .password(user: "", password: decomposed))
        #expect(Credential.bearer(composed) != .bearer(decomposed))
        #expect(ConnectionRoute(unixSocket: composed) != ConnectionRoute(unixSocket: decomposed))
        #expect(try CurlewURI("http://\(composed)@a.test/") != CurlewURI("http://\(decomposed)@a.test/"))
        let keys = [composed, decomposed].map { HTTPCache.Entry.Key(uri: "http://a.test/", partition: $0) }
        #expect(Set(keys).count == 2)
        #expect(
            HTTPCache.Entry.Selector(name: "a", value: composed)
                != HTTPCache.Entry.Selector(name: "a", value: decomposed))
        // The Kelvin sign is equivalent to an ASCII letter.
        #expect(HTTPCache.Entry.Key(uri: "K") != HTTPCache.Entry.Key(uri: "\u{212A}"))
    }

    @Test("Vary distinguishes users whose names differ only in their bytes")
    func vary() async throws {
        let scene = try await CacheScene(.singleUser) { .numbered($1, [.cacheControl: "max-age=60", .vary: "X-User"]) }
        let values: [[UInt8]] = [
            Array(composed.utf8), Array(decomposed.utf8), Array("caf".utf8) + [0xE9], Array("caf".utf8) + [0xEA],
            Array("bytes:636166e9".utf8),
        ]
        for (index, value) in values.enumerated() {
            let fields = HTTPFields([HTTPField(name: Self.user, value: value)])
            #expect(try await scene.get("/", fields) == "200 \(index + 1) miss")
        }
        for (index, value) in values.enumerated() {
            let fields = HTTPFields([HTTPField(name: Self.user, value: value)])
            #expect(try await scene.get("/", fields) == "200 \(index + 1) hit")
        }
    }

    @Test("partitions are distinct if their names differ only in their bytes")
    func partitions() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        #expect(try await scene.get("/", partition: composed) == "200 1 miss")
        #expect(try await scene.get("/", partition: decomposed) == "200 2 miss")
        #expect(try await scene.get("/", partition: composed) == "200 1 hit")
    }

    @Test("No-Vary-Search compares parameters by bytes, also those that are not UTF-8")
    func noVarySearch() async throws {
        let scene = try await CacheScene { cache in
            cache.honorsNoVarySearch = true
        } answer: {
            .numbered($1, [.cacheControl: "max-age=60", .noVarySearch: "params=(\"k\"), key-order"])
        }
        let queries = ["a=%FF", "a=%FE", "a=caf%C3%A9", "a=cafe%CC%81", "%E2%84%AA=1", "%E2%84%AA=2"]
        for (index, query) in queries.enumerated() {
            #expect(try await scene.get("/?\(query)") == "200 \(index + 1) miss")
        }
        #expect(try await scene.get("/?k=9&a=%FF") == "200 1 hit")
    }

    @Test("requests whose fields or users differ only in their bytes are not coalesced")
    func coalescing() async throws {
        let gate = Gate()
        let server = try await MockServer.start { _ in
            try await gate.wait()
            return MockResponse(body: "ok")
        }
        let api = try makeSession { Coalescing() }
        let tasks = [composed, decomposed].map { user in
            Task { try await api.get(.raw(server.url()), fields: [Self.user: user]).body.collect(upTo: 10) }
        }
        try await server.waitForRequests(2)
        gate.open()
        for task in tasks { #expect(try await task.value == Array("ok".utf8)) }
        await server.shutdown()
    }

    @Test("a limit per tag distinguishes tags that differ only in their bytes")
    func tags() async throws {
        let gate = Gate()
        let server = try await MockServer.start { _ in
            try await gate.wait()
            return MockResponse(body: "ok")
        }
        let limiter = ConcurrencyLimiter(.fixed(1), per: .tag)
        let api = try makeSession { limiter }
        let tasks = [composed, decomposed].map { tag in
            Task {
                var options = RequestOptions()
                options.tag = tag
                return try await api.get(.raw(server.url()), options: options).body.collect(upTo: 10)
            }
        }
        try await server.waitForRequests(2)
        // Equivalent names are one key in a Swift dictionary.
        #expect(limiter.figures.count == 1)
        gate.open()
        for task in tasks { #expect(try await task.value == Array("ok".utf8)) }
        await server.shutdown()
    }

    @Test("a credential for a realm is not sent to a canonically equivalent realm")
    func realm() async throws {
        let server = try await MockServer.start { _ in
            var response = MockResponse(status: .unauthorized)
            let challenge = "Basic realm=\"\(decomposed)\""
            response.fields.append(HTTPField(name: .wwwAuthenticate, value: Array(challenge.utf8)))
            return response
        }
        let scoped = try Credential.Scoped(
            server.url(), realm: composed, .password(user: "user", password: "pass"))
        let api = try makeSession { ChallengeAuthentication(scoped) }
        #expect(try await api.get(.raw(server.url())).status == .unauthorized)
        #expect(server.requestCount == 1)
        await server.shutdown()
    }

    @Test("a Link field's relation is compared by bytes")
    func relation() throws {
        let fields = HTTPFields([
            HTTPField(name: HTTPField.Name("Link")!, value: Array("<b>; rel=\"\u{212A}\", <c>; rel=K".utf8))
        ])
        let response = CurlewResponse(.ok, fields: fields, uri: try CurlewURI("http://a.test/"))
        #expect(response.link("k")?.description == "http://a.test/c")
    }

    @Test("cookies whose paths differ only in their bytes are stored separately")
    func cookies() throws {
        let jar = CookieJar()
        let uri = try CurlewURI("http://a.test/")
        for path in [composed, decomposed] { _ = jar.store("a=1; Path=/\(path)", from: uri) }
        #expect(jar.cookies.count == 2)
    }
}
