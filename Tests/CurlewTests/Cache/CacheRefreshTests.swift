import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// RFC 9111 §3, §4.1, §4.3.4 and §4.3.5.
@Suite("Entries that a 304 or a HEAD refreshes", .noLeaks, .timeLimit(.minutes(2)))
struct CacheRefreshTests {
    private static let user = HTTPField.Name("X-U")!

    /// A server whose content depends on `X-U`. Each user's content has its own tag.
    /// - Parameters:
    ///   - first: The fields of 200.
    ///   - later: The fields of 304, and of 200 to HEAD.
    private static func scene(
        _ mode: HTTPCache.Mode = .private, first: HTTPFields = [.cacheControl: "max-age=0"], later: HTTPFields
    ) async throws -> CacheScene {
        try await CacheScene(mode) { request, _ in
            let user = request.fields[Self.user] ?? "nobody"
            let tag: HTTPFields = [.eTag: "\"\(user)\""]
            if request.method == .head {
                return MockResponse(fields: tag + later + [.contentLength: "\(user.utf8.count)"])
            }
            if request.fields[values: .ifNoneMatch].contains("\"\(user)\"") {
                return MockResponse(status: .notModified, fields: tag + later)
            }
            return MockResponse(fields: tag + first, body: .string(user))
        }
    }

    @Test("a 304 that adds Vary restricts the entry to requests like the validated one")
    func addedVary() async throws {
        let scene = try await Self.scene(later: [.vary: "X-U", .cacheControl: "max-age=600"])
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 miss")
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 revalidated")
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 hit")
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
        #expect(try await scene.get("/", [Self.user: "u3"]) == "200 u3 miss")
        #expect(try await scene.get("/") == "200 nobody miss")
    }

    @Test("a 304 with more names in Vary keeps the responses of users apart")
    func otherVary() async throws {
        let scene = try await Self.scene(
            first: [.cacheControl: "max-age=0", .vary: "Accept"],
            later: [.vary: "Accept, X-U", .cacheControl: "max-age=600"])
        _ = try await scene.get("/", [Self.user: "u1"])
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 revalidated")
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 hit")
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a response that a 304 makes unstorable is used once", arguments: ["*", "X-U, *"])
    func unlimitedVary(_ vary: String) async throws {
        let scene = try await Self.scene(later: [.vary: vary, .cacheControl: "max-age=600"])
        _ = try await scene.get("/", [Self.user: "u1"])
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 revalidated")
        #expect(try await scene.get("/", [Self.user: "u1"], policy: .onlyIfCached).hasPrefix("504"))
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a 304 with private removes the entry from a shared cache")
    func privateInShared() async throws {
        let scene = try await Self.scene(
            .shared, first: [.cacheControl: "s-maxage=0"], later: [.cacheControl: "private, max-age=600"])
        _ = try await scene.get("/", [Self.user: "u1"])
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 revalidated")
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a response to HEAD that adds Vary, or private in a shared cache, has the effect of a 304")
    func head() async throws {
        let varied = try await Self.scene(
            first: [.cacheControl: "max-age=10"], later: [.vary: "X-U", .cacheControl: "max-age=600"])
        _ = try await varied.get("/", [Self.user: "u1"])
        _ = try await varied.send(.head, "/", [Self.user: "u1"], policy: .reload)
        #expect(try await varied.get("/", [Self.user: "u1"]) == "200 u1 hit")
        #expect(try await varied.get("/", [Self.user: "u2"]) == "200 u2 miss")
        let shared = try await Self.scene(
            .shared, first: [.cacheControl: "max-age=10"], later: [.cacheControl: "private, max-age=600"])
        _ = try await shared.get("/", [Self.user: "u1"])
        _ = try await shared.send(.head, "/", [Self.user: "u1"], policy: .reload)
        #expect(try await shared.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a 304 to the caller's own condition that adds Vary has the same effect")
    func ownCondition() async throws {
        let scene = try await Self.scene(later: [.vary: "X-U", .cacheControl: "max-age=600"])
        _ = try await scene.get("/", [Self.user: "u1"])
        let own: HTTPFields = [Self.user: "u1", .ifNoneMatch: "\"u1\""]
        #expect(try await scene.send(.get, "/", own, policy: .reload).code == 304)
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 hit")
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a background validation that adds Vary has the same effect")
    func background() async throws {
        let scene = try await Self.scene(
            first: [.cacheControl: "max-age=0, stale-while-revalidate=60"],
            later: [.vary: "X-U", .cacheControl: "max-age=600"])
        _ = try await scene.get("/", [Self.user: "u1"])
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 stale")
        try await eventually("the entry is validated") {
            let entries = try? await scene.cache.store.list(after: nil, count: 2)
            return entries?.first?.head.headerFields[.vary] != nil
        }
        #expect(try await scene.get("/", [Self.user: "u1"]) == "200 u1 hit")
        #expect(try await scene.get("/", [Self.user: "u2"]) == "200 u2 miss")
    }

    @Test("a field that a 304 restricts with no-cache is no longer stored")
    func restrictedField() async throws {
        let name = HTTPField.Name("X-Own")!
        let scene = try await Self.scene(
            first: [.cacheControl: "max-age=0", name: "u1"], later: [.cacheControl: "max-age=600, no-cache=\"X-Own\""])
        #expect(try await scene.send(.get, "/").fields[name] == "u1")
        _ = try await scene.get()
        let hit = try await scene.send(.get, "/")
        #expect(hit.status == "hit")
        #expect(hit.fields[name] == nil)
    }

    @Test("requests that wait for one validation do not share a response that the 304 makes private")
    func joined() async throws {
        let gate = Gate()
        let scene = try await CacheScene(.shared) { request, number in
            if number == 1 {
                return .numbered(1, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
            }
            if number == 2 { try await gate.wait() }
            guard request.fields.contains(.ifNoneMatch), number == 2 else { return .numbered(number) }
            return MockResponse(status: .notModified, fields: [.eTag: "\"a\"", .cacheControl: "private, max-age=60"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        async let first = scene.get()
        try await scene.waitForRequests(2)
        async let second = scene.get()
        try await eventually("both wait") { scene.cache.core.coalescing.memberCount == 2 }
        gate.open()
        #expect(try await [first, second].sorted() == ["200 1 revalidated", "200 3 miss"])
    }

    @Test("RFC 9530 §2: the digest of an empty 304 or HEAD does not replace the digest of the stored content")
    func digest() async throws {
        let scene = try await CacheScene { request, number in
            let isEmpty = request.method == .head || request.fields.contains(.ifNoneMatch)
            let fields: HTTPFields = [
                .eTag: "\"a\"", .cacheControl: "max-age=10", .contentDigest: isEmpty ? "empty" : "content",
            ]
            if request.method == .head { return MockResponse(fields: fields + [.contentLength: "1"]) }
            return isEmpty ? MockResponse(status: .notModified, fields: fields) : .numbered(number, fields)
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        let validated = try await scene.send()
        #expect(validated.status == "revalidated")
        #expect(validated.fields[.contentDigest] == "content")
        _ = try await scene.send(.head, "/", policy: .reload)
        let hit = try await scene.send()
        #expect(hit.status == "hit")
        #expect(hit.fields[.contentDigest] == "content")
        // An answer without content does not have the digest.
        let unchanged = try await scene.send(.get, "/", [.ifNoneMatch: "\"a\""])
        #expect(unchanged.description == "304  hit")
        #expect(unchanged.fields[.contentDigest] == nil)
        let head = try await scene.send(.head)
        #expect(head.status == "hit")
        #expect(head.fields[.contentDigest] == nil)
    }

    @Test("§4.3.4: a 304 with a strong tag does not make the tag of a stored weak response strong")
    func weakTag() async throws {
        let scene = try await CacheScene { request, number in
            if request.fields.contains(.ifNoneMatch) {
                return MockResponse(status: .notModified, fields: [.eTag: "\"a\"", .cacheControl: "max-age=60"])
            }
            return .numbered(number, [.eTag: "W/\"a\"", .cacheControl: "max-age=10"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        let validated = try await scene.send()
        #expect(validated.description == "200 1 revalidated")
        #expect(validated.fields[.eTag] == "W/\"a\"")
        // The entry is fresh again, and a range of it is not given to the owner of the strong tag.
        #expect(try await scene.get("/", [.range: "bytes=0-0", .ifRange: "\"a\""]) == "200 1 hit")
    }
}
