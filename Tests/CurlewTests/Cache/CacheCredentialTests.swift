import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("Credentials and a cache", .noLeaks, .timeLimit(.minutes(2)))
struct CacheCredentialTests {
    private static let credentials: [HTTPFields] = [
        [.authorization: "Bearer 1"], [.cookie: "session=1"], [HTTPField.Name("X-API-Key")!: "1"],
        [.proxyAuthorization: "Basic 1"],
    ]

    @Test("requests with credentials bypass the cache by default, in both directions", arguments: credentials)
    func bypass(_ fields: HTTPFields) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        #expect(try await scene.get("/", fields) == "200 1 bypass")
        #expect(try await scene.get() == "200 2 miss")
        #expect(try await scene.get("/", fields) == "200 3 bypass")
        #expect(try await scene.get() == "200 2 hit")
    }

    @Test(
        "fields whose names suggest a user's identity are credentials",
        arguments: [
            "X-Functions-Key", "X-Master-Key", "Cf-Access-Jwt-Assertion", "X-Goog-IAP-JWT-Assertion", "X-Remote-User",
            "X-User-Id",
            "X-Password", "X-Signature", "Cookie2", "Private-Token", "X-Forwarded-Email", "X-Client-Cert", "From",
            "X-Amz-Server-Side-Encryption-Customer-Key",
        ])
    func names(_ name: String) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        let fields = HTTPFields([HTTPField(name: try #require(HTTPField.Name(name)), value: "1")])
        #expect(try await scene.get("/", fields) == "200 1 bypass")
        #expect(try await scene.get() == "200 2 miss")
    }

    @Test(
        "fields that identify no user are not credentials",
        arguments: [
            "User-Agent", "X-User-Agent", "Idempotency-Key", "X-Request-Id", "Accept-Language", "X-Author",
            "Sec-Fetch-User",
        ])
    func plainNames(_ name: String) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        let fields = HTTPFields([HTTPField(name: try #require(HTTPField.Name(name)), value: "1")])
        #expect(try await scene.get("/", fields) == "200 1 miss")
        #expect(try await scene.get("/", fields) == "200 1 hit")
    }

    @Test("user information in the URI, and fields marked as secret, are credentials")
    func others() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        let url = scene.server.url().replacing("http://", with: "http://user:secret@")
        let response = try await scene.api.send(CurlewRequest(.get, url))
        #expect(response.cacheStatus == .bypass)
        await response.discard()
        var request = try CurlewRequest(.get, scene.server.url(), fields: [HTTPField.Name("X-Tenant")!: "1"])
        request.options.secretFields = [HTTPField.Name("X-Tenant")!]
        let other = try await scene.api.send(request)
        #expect(other.cacheStatus == .bypass)
        await other.discard()
    }

    @Test("a partition keeps each user's responses apart", arguments: credentials)
    func partitions(_ fields: HTTPFields) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "private, max-age=60"]) }
        #expect(try await scene.get("/", fields, partition: "1") == "200 1 miss")
        #expect(try await scene.get("/", fields, partition: "2") == "200 2 miss")
        #expect(try await scene.get("/", fields, partition: "1") == "200 1 hit")
        #expect(try await scene.get("/", partition: nil) == "200 3 miss")
        #expect(try await scene.get("/", fields) == "200 4 bypass")
    }

    @Test("a program that acts as a single user has its responses stored", arguments: credentials)
    func singleUser(_ fields: HTTPFields) async throws {
        let scene = try await CacheScene(.singleUser) { .numbered($1, [.cacheControl: "max-age=60"]) }
        #expect(try await scene.get("/", fields) == "200 1 miss")
        #expect(try await scene.get("/", fields) == "200 1 hit")
    }

    @Test("§3.5: a shared cache answers requests with Authorization if the response allows it")
    func shared() async throws {
        let scene = try await CacheScene(.shared) { request, number in
            .numbered(number, [.cacheControl: request.path == "/public" ? "max-age=60, public" : "max-age=60"])
        }
        let fields: HTTPFields = [.authorization: "Bearer 1"]
        #expect(try await scene.get("/public", fields) == "200 1 miss")
        #expect(try await scene.get("/public") == "200 1 hit")
        #expect(try await scene.get("/own", fields) == "200 2 miss")
        #expect(try await scene.get("/own", fields) == "200 3 miss")
        #expect(try await scene.get("/own") == "200 4 miss")
        #expect(try await scene.get("/own") == "200 4 hit")
        // A response that was stored without credentials does not answer a request with credentials.
        #expect(try await scene.get("/own", fields) == "200 5 miss")
    }

    @Test("credentials that a link behind the cache adds are noticed, and the response is not stored")
    func addedBehind() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "secret")
        }
        let clock = TurnableClock()
        let cache = HTTPCache { clock.now }
        let api = try HTTPSession(
            baseURL: server.url(), eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            cache
            Link { request, next in
                var request = request
                request.fields[.authorization] = "Bearer 1"
                return try await next(request)
            }
        }
        for _ in 0..<2 {
            let response = try await api.get(.raw("/"))
            #expect(response.cacheStatus == .miss)
            _ = try await response.body.collect(upTo: 100)
        }
        #expect(try await cache.store.contents.entries == 0)
    }

    @Test("credentials that a link behind the cache adds are noticed over a custom transport too")
    func addedBehindForeignTransport() async throws {
        let transport = StubTransport { _ in .response(fields: [.cacheControl: "max-age=60"], body: "secret") }
        let cache = HTTPCache()
        let api = try HTTPSession(transport: transport, chain: .bare) {
            cache
            Link { request, next in
                var request = request
                request.fields[.authorization] = "Bearer 1"
                return try await next(request)
            }
        }
        for _ in 0..<2 {
            #expect(try await api.get("http://example.com/").body.collect(upTo: 10) == Array("secret".utf8))
        }
        #expect(transport.received.count == 2)
    }

    @Test("Vary: Cookie separates the users of one cache")
    func varyCookie() async throws {
        let scene = try await CacheScene(.singleUser) {
            .numbered($1, [.cacheControl: "max-age=60", .vary: "Cookie"])
        }
        #expect(try await scene.get("/", [.cookie: "a=1"]) == "200 1 miss")
        #expect(try await scene.get("/", [.cookie: "a=2"]) == "200 2 miss")
        #expect(try await scene.get("/") == "200 3 miss")
        #expect(try await scene.get("/", [.cookie: "a=1"]) == "200 1 hit")
    }

    /// Every response names its user. Whatever the server's fields are, no user gets the response of another.
    @Test("a user's response never reaches another user, whatever the server's fields are", arguments: 0..<8)
    func fuzzed(_ seed: UInt64) async throws {
        var numbers = SeededNumbers(seed: seed)
        let directives = [
            "max-age=600", "public, max-age=600", "private, max-age=600", "s-maxage=600",
            "must-revalidate, max-age=600",
            "no-cache", "stale-while-revalidate=600, max-age=0", "immutable, max-age=600",
        ]
        let plan = Guarded(numbers)
        let transport = StubTransport { request in
            let user = request.request.fields[.authorization] ?? request.request.fields[.cookie] ?? "nobody"
            let (directive, vary, cookie) = plan.withLock { numbers in
                (
                    directives.randomElement(using: &numbers)!, Bool.random(using: &numbers),
                    Int.random(in: 0..<4, using: &numbers) == 0
                )
            }
            var fields: HTTPFields = [.cacheControl: directive]
            if vary { fields[.vary] = "accept" }
            if cookie { fields[.setCookie] = "session=\(user)" }
            return .response(fields: fields, body: .bytes(Array(user.utf8)))
        }
        let clock = TurnableClock()
        let cache = HTTPCache { clock.now }
        let api = try HTTPSession(transport: transport, chain: .bare) { cache }
        for _ in 0..<500 {
            let user = Int.random(in: 0..<4, using: &numbers)
            var request = try CurlewRequest(.get, "http://example.com/\(Int.random(in: 0..<3, using: &numbers))")
            var expected = "nobody"
            if user > 0 {
                let isCookie = Bool.random(using: &numbers)
                expected = isCookie ? "user=\(user)" : "Bearer \(user)"
                request.fields[isCookie ? .cookie : .authorization] = expected
                // The cookie and the token of a user are two partitions here.
                if Bool.random(using: &numbers) { request.options.cachePartition = expected }
            }
            request.options.cachePolicy =
                [nil, .standard, .forceCache, .onlyIfCached, .noCache, .reload].randomElement(using: &numbers)!
            let response = try await api.send(request)
            let body = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)
            #expect(body == expected || response.status == .gatewayTimeout, "\(response.cacheStatus as Any)")
            clock.advance(Int64.random(in: 0..<300, using: &numbers))
        }
    }
}
