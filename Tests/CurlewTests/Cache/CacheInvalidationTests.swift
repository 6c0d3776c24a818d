import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

/// RFC 9111 §4.4.
@Suite("Invalidation of stored responses", .noLeaks, .timeLimit(.minutes(2)))
struct CacheInvalidationTests {
    @Test(
        "a successful unsafe request removes the stored responses of its URI",
        arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func unsafe(_ method: HTTPRequest.Method) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        _ = try await scene.get("/a")
        _ = try await scene.get("/b")
        #expect(try await scene.send(method, "/a").status == "bypass")
        #expect(try await scene.get("/a") == "200 4 miss")
        #expect(try await scene.get("/b") == "200 2 hit")
    }

    @Test("an unknown method counts as unsafe, and so does a safe method with an override field")
    func unknown() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        _ = try await scene.get()
        _ = try await scene.send(HTTPRequest.Method("PURGE")!)
        #expect(try await scene.get() == "200 3 miss")
        #expect(
            try await scene.send(.get, "/", [HTTPField.Name("X-HTTP-Method-Override")!: "DELETE"]).status == "bypass")
        #expect(try await scene.get() == "200 5 miss")
    }

    @Test("safe methods, and unsafe methods that fail, remove no response", arguments: [400, 404, 500, 503])
    func failures(_ code: Int) async throws {
        let scene = try await CacheScene { request, number in
            .numbered(number, [.cacheControl: "max-age=60"], request.method == .post ? code : 200)
        }
        _ = try await scene.get()
        _ = try await scene.send(.post)
        _ = try await scene.send(.options)
        #expect(try await scene.get() == "200 1 hit")
    }

    @Test("Location and Content-Location are invalidated too, if they have the same origin")
    func locations() async throws {
        let scene = try await CacheScene { request, number in
            guard request.method == .post else { return .numbered(number, [.cacheControl: "max-age=60"]) }
            return .numbered(number, [.location: "b", .contentLocation: "/c?x"], 201)
        }
        for path in ["/b", "/c?x", "/c"] { _ = try await scene.get(path) }
        _ = try await scene.send(.post, "/a")
        #expect(try await scene.get("/b") == "200 5 miss")
        #expect(try await scene.get("/c?x") == "200 6 miss")
        #expect(try await scene.get("/c") == "200 3 hit")
    }

    @Test("a Location cannot remove responses of another origin")
    func otherOrigin() async throws {
        let store = HTTPCache.MemoryStore()
        let victim = try await CacheScene(store: store) { .numbered($1, [.cacheControl: "max-age=60"]) }
        _ = try await victim.get("/a")
        let url = victim.server.url("/a")
        let attacker = try await CacheScene(store: store) { .numbered($1, [.location: url, .contentLocation: url]) }
        _ = try await attacker.send(.post)
        #expect(try await victim.get("/a") == "200 1 hit")
    }

    @Test("responses of every partition and variant of the URI are removed")
    func partitions() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60", .vary: "accept"]) }
        _ = try await scene.get("/", [.accept: "a"], partition: "1")
        _ = try await scene.get("/", [.accept: "b"], partition: "2")
        _ = try await scene.send(.put)
        #expect(try await scene.get("/", [.accept: "a"], partition: "1").hasSuffix("miss"))
        #expect(try await scene.get("/", [.accept: "b"], partition: "2").hasSuffix("miss"))
    }

    @Test("a response that was requested before the invalidation, and arrives after it, is not stored")
    func overtaken() async throws {
        let gate = Gate()
        let scene = try await CacheScene { request, number in
            if number == 1 { try await gate.wait() }
            return .numbered(number, [.cacheControl: "max-age=60"])
        }
        async let early = scene.get()
        try await scene.waitForRequests(1)
        _ = try await scene.send(HTTPRequest.Method.post)
        gate.open()
        #expect(try await early == "200 1 miss")
        #expect(try await scene.get() == "200 3 miss")
        #expect(try await scene.get() == "200 3 hit")
    }
}
