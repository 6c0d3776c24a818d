import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("Responses to QUERY in a cache", .noLeaks, .timeLimit(.minutes(2)))
struct CacheQueryTests {
    private static let sql: HTTPFields = [.contentType: "application/sql"]

    private func scene(_ fields: HTTPFields = [.cacheControl: "max-age=60"]) async throws -> CacheScene {
        try await CacheScene { .numbered($1, fields) }
    }

    private func query(
        _ scene: CacheScene, _ body: CurlewRequest.Body = .string("SELECT 1"), _ fields: HTTPFields = sql,
        path: String = "/", policy: HTTPCache.Policy? = nil, partition: String? = nil
    ) async throws -> String {
        try await scene.send(.query, path, fields, policy: policy, partition: partition, body: body).description
    }

    @Test("a response answers queries with the same content, type and URI (RFC 10008 §2.7)")
    func same() async throws {
        let scene = try await scene()
        #expect(try await query(scene) == "200 1 miss")
        #expect(try await query(scene) == "200 1 hit")
        #expect(await scene.server.takeRequest()?.text == "SELECT 1")
    }

    /// Requests that differ in a single property.
    private func variations() -> [(CurlewRequest.Body, HTTPFields, String)] {
        let sql = Self.sql
        func fields(_ value: String, _ others: HTTPFields = [:]) -> HTTPFields {
            var fields = others
            fields[.contentType] = value
            return fields
        }
        return [
            (.string("SELECT 1"), sql, "/"), (.string("SELECT 2"), sql, "/"), (.string("SELECT 1 "), sql, "/"),
            (.string("select 1"), sql, "/"), (.string(""), sql, "/"), (.string("SELECT 1"), sql, "/?"),
            (.string("SELECT 1"), sql, "/other"), (.string("SELECT 1"), [:], "/"),
            (.string("SELECT 1"), fields("application/sql;charset=utf-8"), "/"),
            (.string("SELECT 1"), fields("text/plain"), "/"),
            (.string("SELECT 1"), fields("application/sql", [.contentEncoding: "x"]), "/"),
            (.string("SELECT 1"), fields("application/sql", [.contentLanguage: "de"]), "/"),
            (.string("SELECT 1"), fields("application/sql", [.contentLanguage: "en"]), "/"),
            // The character has two forms, which are equal for Swift's `==`.
            (.string("caf\u{E9}"), sql, "/"), (.string("cafe\u{301}"), sql, "/"),
            (.string("SELECT 1"), fields("text/\u{E9}"), "/"), (.string("SELECT 1"), fields("text/e\u{301}"), "/"),
        ]
    }

    @Test("a difference of one byte in the content, its metadata or the URI changes the key")
    func apart() async throws {
        let scene = try await scene()
        for (number, (body, fields, path)) in variations().enumerated() {
            #expect(try await query(scene, body, fields, path: path) == "200 \(number + 1) miss")
        }
        for (number, (body, fields, path)) in variations().enumerated() {
            #expect(try await query(scene, body, fields, path: path) == "200 \(number + 1) hit")
        }
    }

    @Test("a field that does not describe the content does not change the key, unless Vary names it")
    func otherFields() async throws {
        var fields = Self.sql
        fields[.accept] = "text/csv"
        let plain = try await scene()
        #expect(try await query(plain) == "200 1 miss")
        #expect(try await query(plain, .string("SELECT 1"), fields) == "200 1 hit")
        let varied = try await scene([.cacheControl: "max-age=60", .vary: "Accept"])
        #expect(try await query(varied) == "200 1 miss")
        #expect(try await query(varied, .string("SELECT 1"), fields) == "200 2 miss")
        #expect(try await query(varied) == "200 1 hit")
    }

    @Test("a QUERY and a GET of the same URI never answer each other, and a QUERY invalidates no response")
    func besideGET() async throws {
        let scene = try await scene()
        #expect(try await scene.get() == "200 1 miss")
        #expect(try await query(scene, .none, [:]) == "200 2 miss")
        #expect(try await query(scene) == "200 3 miss")
        #expect(try await query(scene, .string("other"), policy: .noStore) == "200 4 bypass")
        #expect(try await scene.get() == "200 1 hit")
        #expect(try await query(scene, .none, [:]) == "200 2 hit")
        #expect(try await query(scene) == "200 3 hit")
        #expect(try await scene.send(.head).status == "hit")
    }

    @Test(
        "an unsafe request removes the stored responses to queries of its URI",
        arguments: [HTTPRequest.Method.post, .put, .delete])
    func invalidated(_ method: HTTPRequest.Method) async throws {
        let scene = try await scene()
        #expect(try await query(scene) == "200 1 miss")
        _ = try await scene.send(method, body: method == .delete ? .none : .string("x"))
        #expect(try await query(scene) == "200 3 miss")
    }

    @Test("a partition is part of the key of a QUERY, whatever its name")
    func partitions() async throws {
        let scene = try await scene()
        #expect(try await query(scene) == "200 1 miss")
        #expect(try await query(scene, partition: "a") == "200 2 miss")
        #expect(try await query(scene, partition: "via:") == "200 3 miss")
        #expect(try await query(scene, partition: "a") == "200 2 hit")
        #expect(try await query(scene) == "200 1 hit")
    }

    /// A body that counts its reads.
    private func counted(_ text: String, _ count: Guarded<Int>, length: Int64? = nil) -> CurlewRequest.Body {
        .stream(length: length) {
            count.withLock { $0 += 1 }
            return AsyncStream<[UInt8]> { chunks in
                chunks.yield(Array(text.utf8))
                chunks.finish()
            }
        }
    }

    @Test("a body from a file or a producer has the key of its bytes, and is read once")
    func bodies() async throws {
        let scene = try await scene()
        let folder = try ScratchFolder()
        try folder.write("query", Array("SELECT 1".utf8))
        let count = Guarded(0)
        #expect(try await query(scene) == "200 1 miss")
        #expect(try await query(scene, .file(folder.file("query"))) == "200 1 hit")
        #expect(try await query(scene, counted("SELECT 1", count)) == "200 1 hit")
        #expect(try await query(scene, counted("SELECT 2", count)) == "200 2 miss")
        #expect(try await query(scene, .string("SELECT 2")) == "200 2 hit")
        #expect(count.withLock { $0 } == 2)
        _ = await scene.server.takeRequest()
        #expect(await scene.server.takeRequest()?.text == "SELECT 2")
    }

    @Test("content that is too long, or can be read once only, bypasses the cache and is sent")
    func bypassed() async throws {
        let scene = try await scene()
        let long = String(repeating: "x", count: QueryContent.limit + 1)
        let count = Guarded(0)
        for (number, body) in [oneShot("SELECT 1"), .string(long), counted(long, count)].enumerated() {
            let isCounted = number == 2
            #expect(try await query(scene, body) == "200 \(number + 1) bypass")
            let recorded = try #require(await scene.server.takeRequest())
            #expect(recorded.text == (number == 0 ? "SELECT 1" : long))
            #expect(!isCounted || count.withLock { $0 } == 2)
        }
        let most = String(repeating: "x", count: QueryContent.limit)
        #expect(try await query(scene, .string(most)) == "200 4 miss")
        #expect(try await query(scene, counted(most, count)) == "200 4 hit")
        let missing = await curlewError { _ = try await query(scene, .file("/nonexistent/query")) }
        #expect(missing?.code == .bodyFailed)
    }

    @Test("a stale response is validated by a QUERY with its content, and refreshed by a 304")
    func validated() async throws {
        let scene = try await CacheScene { request, number in
            let isCurrent = request.fields[.ifNoneMatch] == "\"a\""
            return .numbered(number, [.cacheControl: "max-age=60", .eTag: "\"a\""], isCurrent ? 304 : 200)
        }
        #expect(try await query(scene) == "200 1 miss")
        scene.clock.advance(100)
        #expect(try await query(scene) == "200 1 revalidated")
        #expect(try await query(scene) == "200 1 hit")
        _ = await scene.server.takeRequest()
        let conditional = try #require(await scene.server.takeRequest())
        #expect(conditional.method.rawValue == "QUERY" && conditional.text == "SELECT 1")
        #expect(try await query(scene, policy: .onlyIfCached) == "200 1 hit")
        #expect(try await query(scene, .string("x"), policy: .onlyIfCached).hasPrefix("504"))
    }

    @Test("a method override field on a QUERY bypasses the cache, and invalidates")
    func overridden() async throws {
        let scene = try await scene()
        #expect(try await scene.get() == "200 1 miss")
        var fields = Self.sql
        fields[HTTPField.Name("X-HTTP-Method-Override")!] = "DELETE"
        #expect(try await query(scene, .string("x"), fields) == "200 2 bypass")
        #expect(try await scene.get() == "200 3 miss")
    }

    @Test("a link behind the cache that changes the content prevents storing")
    func changedBehind() async throws {
        struct Changing: CurlewMiddleware {
            func intercept(
                _ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>
            ) async throws -> CurlewResponse {
                var request = request
                request.body = .string("another")
                return try await next(request)
            }
        }
        let server = try await MockServer.start { _ in MockResponse(fields: [.cacheControl: "max-age=60"]) }
        let api = try makeSession {
            HTTPCache()
            Changing()
        }
        for _ in 0..<2 {
            let response = try await api.query(.raw(server.url()), .body(.string("SELECT 1")), fields: Self.sql)
            #expect(response.cacheStatus == .miss)
            await response.discard()
        }
        try await server.waitForRequests(2)
    }

    @Test("concurrent queries are not coalesced")
    func notJoined() throws {
        let request = try CurlewRequest(.query, "http://a.test/", body: .string("x"))
        #expect(FlightKey(request, over: nil) == nil)
        #expect(FlightKey(try CurlewRequest(.query, "http://a.test/"), over: nil) == nil)
    }
}
