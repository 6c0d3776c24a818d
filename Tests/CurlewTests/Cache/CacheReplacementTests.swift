import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// RFC 9111 §4.3.3.
@Suite("Stored responses and full responses that cannot replace them", .noLeaks, .timeLimit(.minutes(2)))
struct CacheReplacementTests {
    private static let first: HTTPFields = [.eTag: "\"a\"", .cacheControl: "max-age=10"]

    /// A server whose later responses differ from the first one.
    private static func scene(
        _ code: Int, _ later: HTTPFields, _ mode: HTTPCache.Mode = .private, first: HTTPFields = first,
        _ adjust: (inout HTTPCache) -> Void = { _ in }
    ) async throws -> CacheScene {
        try await CacheScene(mode, adjust) { _, number in
            number == 1 ? .numbered(1, first) : .numbered(number, later, code)
        }
    }

    @Test(
        "a full response that cannot be stored removes the stored response",
        arguments: [
            (200, [.cacheControl: "no-store"]), (200, [.vary: "*"]), (200, [.setCookie: "a=1"]), (302, [:]),
            (400, [:]), (401, [:]), (403, [:]), (404, [.cacheControl: "no-store"]), (410, [.cacheControl: "no-store"]),
        ] as [(Int, HTTPFields)])
    func removed(_ code: Int, _ later: HTTPFields) async throws {
        for policy in [HTTPCache.Policy.standard, .reload, .noCache] {
            let scene = try await Self.scene(code, later)
            _ = try await scene.get()
            if policy == .standard { scene.clock.advance(20) }
            #expect(try await scene.get(policy: policy) == "\(code) 2 miss")
            #expect(try await scene.cache.store.contents.entries == 0)
        }
    }

    @Test("a full response to a background validation that cannot be stored removes the stored response")
    func removedBehind() async throws {
        let scene = try await Self.scene(
            200, [.cacheControl: "no-store"],
            first: [.eTag: "\"a\"", .cacheControl: "max-age=10, stale-while-revalidate=60"])
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        try await eventually("the stored response is removed") {
            try await scene.cache.store.contents.entries == 0
        }
    }

    @Test(
        "a response that does not describe the resource keeps the stored response",
        arguments: [408, 412, 416, 417, 425, 426, 428, 429, 431, 500, 502, 503, 504, 505, 511])
    func kept(_ code: Int) async throws {
        let scene = try await Self.scene(code, [.cacheControl: "no-store"])
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "\(code) 2 miss")
        #expect(try await scene.get(policy: .onlyIfCached) == "200 1 stale")
    }

    @Test("a challenge to a request without credentials keeps the stored response, and a refusal removes it")
    func challenge() async throws {
        for (request, entries) in [([:], 1), ([.authorization: "Basic YTpi"], 0)] as [(HTTPFields, Int)] {
            let scene = try await Self.scene(401, [.wwwAuthenticate: "Basic realm=\"a\""], .singleUser)
            _ = try await scene.get()
            #expect(try await scene.send(.get, "/", request, policy: .reload).code == 401)
            #expect(try await scene.cache.store.contents.entries == entries)
        }
    }

    @Test("a part that cannot be stored keeps the stored response")
    func keptByPart() async throws {
        let scene = try await Self.scene(206, [.cacheControl: "no-store", .contentRange: "bytes 0-0/1"])
        _ = try await scene.get()
        #expect(try await scene.send(.get, "/", [.range: "bytes=0-0"], policy: .reload).code == 206)
        #expect(try await scene.get() == "200 1 hit")
    }

    @Test("a response to the credentials of one user keeps the response of all users", arguments: [200, 401, 403])
    func keptByCredentials(_ code: Int) async throws {
        let scene = try await Self.scene(code, [.cacheControl: "no-store"], .shared)
        _ = try await scene.get()
        #expect(try await scene.send(.get, "/", [.authorization: "Bearer 1"]).code == code)
        #expect(try await scene.get() == "200 1 hit")
    }

    @Test("a full response that a hook or the limit of an entry refuses removes the stored response")
    func refused() async throws {
        let refusing = try await Self.scene(200, [.server: "2", .cacheControl: "max-age=10"]) {
            $0.willStore = { entry, _ in entry.head.headerFields[.server] == nil ? entry : nil }
        }
        let limited = try await CacheScene {
            $0.entryLimit = 4
        } answer: { _, number in
            number == 1 ? .numbered(1, Self.first) : MockResponse(fields: Self.first, body: .string("too long"))
        }
        for scene in [refusing, limited] {
            _ = try await scene.get()
            scene.clock.advance(20)
            _ = try await scene.get()
            #expect(try await scene.cache.store.contents.entries == 0)
        }
    }
}
