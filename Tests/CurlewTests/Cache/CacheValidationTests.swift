import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// RFC 9111 §4.3, RFC 5861, RFC 8246.
@Suite("Validation of stored responses", .noLeaks, .timeLimit(.minutes(2)))
struct CacheValidationTests {
    /// Answers 304 to a matching condition.
    private static func validating(
        _ number: Int, _ request: InboundRequest, _ fields: HTTPFields, fresh: HTTPFields = [:]
    ) -> MockResponse {
        let tag = fields[.eTag]
        let date = fields[.lastModified]
        let isSame =
            tag.map { request.fields[values: .ifNoneMatch].contains($0) }
            ?? (date != nil && request.fields[.ifModifiedSince] == date)
        if isSame { return MockResponse(status: .notModified, fields: fields + fresh) }
        return .numbered(number, fields)
    }

    @Test(
        "§4.3.1: a stale response is validated by its entity tag, weak or strong, or by its date",
        arguments: [
            [.eTag: "\"a\""], [.eTag: "W/\"a\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
        ] as [HTTPFields])
    func validation(_ validator: HTTPFields) async throws {
        let scene = try await CacheScene { request, number in
            Self.validating(number, request, validator + [.cacheControl: "max-age=10"], fresh: [.server: "\(number)"])
        }
        #expect(try await scene.get() == "200 1 miss")
        scene.clock.advance(20)
        let validated = try await scene.send()
        #expect(validated.description == "200 1 revalidated")
        #expect(validated.fields[.server] == "2")
        #expect(validated.fields[.age] == "0")
        // The response is fresh again, with the new fields.
        scene.clock.advance(9)
        let hit = try await scene.send()
        #expect(hit.description == "200 1 hit")
        #expect(hit.fields[.server] == "2")
    }

    @Test("§3.2: a 304 replaces stored fields, except those of the stored body and unstorable ones")
    func update() async throws {
        let scene = try await CacheScene { request, number in
            if number == 1 {
                return .numbered(
                    1, [.eTag: "\"a\"", .cacheControl: "max-age=1", .server: "1", .contentType: "text/plain"])
            }
            return MockResponse(
                status: .notModified,
                fields: [
                    .eTag: "\"a\"", .cacheControl: "max-age=5", .contentEncoding: "gzip", .contentLength: "999",
                    .connection: "X-Hop", HTTPField.Name("X-Hop")!: "1", .setCookie: "a=1",
                    .contentType: "text/html", .contentLanguage: "de",
                ])
        }
        _ = try await scene.get()
        scene.clock.advance(2)
        let validated = try await scene.send()
        #expect(validated.description == "200 1 revalidated")
        // The cookie is set once, with the response that contained it.
        #expect(validated.fields[.setCookie] == "a=1")
        let hit = try await scene.send()
        #expect(hit.status == "hit")
        #expect(hit.fields[.server] == "1")
        #expect(hit.fields[.contentType] == "text/html")
        #expect(hit.fields[.contentLanguage] == "de")
        #expect(hit.fields[.contentLength] == "1")
        for name in [HTTPField.Name.contentEncoding, .connection, HTTPField.Name("X-Hop")!, .setCookie] {
            #expect(hit.fields[name] == nil, "\(name)")
        }
    }

    @Test("§4.3.3: a full response replaces the stored one, also if it is another variant")
    func replaced() async throws {
        let scene = try await CacheScene {
            .numbered($1, [.eTag: "\"\($1)\"", .cacheControl: "max-age=10"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 2 miss")
        #expect(try await scene.get() == "200 2 hit")
        #expect(try await scene.cache.store.contents.entries == 1)
    }

    @Test("a 304 that does not match the stored response is rejected, and the request is repeated unconditionally")
    func wrongValidation() async throws {
        let scene = try await CacheScene { request, number in
            if request.fields.contains(.ifNoneMatch) {
                return MockResponse(status: .notModified, fields: [.eTag: "\"other\""])
            }
            return .numbered(number, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 3 miss")
        #expect(scene.server.requestCount == 3)
    }

    @Test("a 304 without a stored response, or without a condition, is returned to the caller and not stored")
    func strayNotModified() async throws {
        let scene = try await CacheScene { _, _ in MockResponse(status: .notModified, fields: [.eTag: "\"a\""]) }
        #expect(try await scene.get() == "304  miss")
        #expect(try await scene.get("/", [.ifNoneMatch: "\"a\""]) == "304  miss")
        #expect(try await scene.cache.store.contents.entries == 0)
    }

    @Test("an entry that is removed during its validation is requested again")
    func goneMeanwhile() async throws {
        let store = HTTPCache.MemoryStore()
        let scene = try await CacheScene(store: store) { request, number in
            if request.fields.contains(.ifNoneMatch) {
                try await store.remove(.all)
                return MockResponse(status: .notModified, fields: [.eTag: "\"a\""])
            }
            return .numbered(number, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 3 miss")
    }

    @Test("§4.3.2: the caller's conditions are answered from a fresh response, and otherwise sent unchanged")
    func ownConditions() async throws {
        let scene = try await CacheScene { request, number in
            Self.validating(
                number, request,
                [.eTag: "\"a\"", .cacheControl: "max-age=10", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"])
        }
        _ = try await scene.get()
        let same = try await scene.send(.get, "/", [.ifNoneMatch: "\"x\", W/\"a\""])
        #expect(same.description == "304  hit")
        #expect(same.fields[.eTag] == "\"a\"")
        #expect(same.fields[.contentLength] == nil)
        #expect(try await scene.get("/", [.ifNoneMatch: "*"]) == "304  hit")
        #expect(try await scene.get("/", [.ifNoneMatch: "\"x\""]) == "200 1 hit")
        #expect(try await scene.get("/", [.ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"]) == "304  hit")
        #expect(try await scene.get("/", [.ifModifiedSince: "Sun, 06 Nov 1994 08:49:36 GMT"]) == "200 1 hit")
        #expect(scene.server.requestCount == 1)
        scene.clock.advance(20)
        #expect(try await scene.get("/", [.ifNoneMatch: "\"a\""]) == "304  miss")
        let sent = try #require(
            await { () async -> RecordedRequest? in
                _ = await scene.server.takeRequest()
                return await scene.server.takeRequest()
            }())
        #expect(sent.fields[values: .ifNoneMatch] == ["\"a\""])
        #expect(!sent.fields.contains(.ifModifiedSince))
        // The 304 has refreshed the stored response.
        #expect(try await scene.get() == "200 1 hit")
    }

    @Test("§4.3.2: conditions that only the origin can evaluate are sent to it")
    func originConditions() async throws {
        let scene = try await CacheScene { .numbered($1, [.eTag: "\"a\"", .cacheControl: "max-age=10"]) }
        _ = try await scene.get()
        #expect(try await scene.get("/", [.ifMatch: "\"a\""]) == "200 2 miss")
        #expect(try await scene.get("/", [.ifUnmodifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"]) == "200 3 miss")
    }

    @Test(
        "§5.2.1: the directives of a request are obeyed",
        arguments: [
            ("no-cache", 0, "revalidated"), ("max-age=0", 1, "revalidated"), ("max-age=5", 4, "hit"),
            ("max-age=5", 6, "revalidated"), ("min-fresh=5", 5, "hit"), ("min-fresh=5", 6, "revalidated"),
            ("max-stale=5", 14, "stale"), ("max-stale=5", 16, "revalidated"), ("max-stale", 1000, "stale"),
            ("max-age=20, max-stale=5", 14, "stale"), ("no-store", 5, "hit"), ("only-if-cached", 5, "hit"),
            ("min-fresh=5, max-stale=100", 6, "revalidated"),
        ] as [(String, Int64, String)])
    func requestDirectives(_ text: String, _ after: Int64, _ expected: String) async throws {
        let scene = try await CacheScene { request, number in
            Self.validating(number, request, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
        }
        _ = try await scene.get()
        scene.clock.advance(after)
        #expect(try await scene.get("/", [.cacheControl: text]) == "200 1 \(expected)")
    }

    @Test("§5.2.1.7: only-if-cached without a usable stored response is 504, without a request to the server")
    func onlyIfCached() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=10"]) }
        #expect(try await scene.get("/", [.cacheControl: "only-if-cached"]) == "504  miss")
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get("/", [.cacheControl: "only-if-cached"]) == "504  miss")
        #expect(try await scene.get("/", [.cacheControl: "only-if-cached, max-stale"]) == "200 1 stale")
        #expect(scene.server.requestCount == 1)
    }

    @Test("§5.4: Pragma applies only without Cache-Control")
    func pragma() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        _ = try await scene.get()
        #expect(try await scene.get("/", [.pragma: "no-cache", .cacheControl: "max-age=50"]) == "200 1 hit")
        #expect(try await scene.get("/", [.pragma: "no-cache"]) == "200 2 miss")
    }

    @Test(
        "§5.2.2: responses that forbid it are not served stale, whatever the request accepts",
        arguments: ["must-revalidate", "no-cache", "proxy-revalidate", "s-maxage=5"])
    func forbidsStale(_ word: String) async throws {
        for mode in [HTTPCache.Mode.private, .shared] {
            let scene = try await CacheScene(mode) {
                .numbered($1, [.cacheControl: "\(word), max-age=5, stale-while-revalidate=100, stale-if-error=100"])
            }
            _ = try await scene.get()
            scene.clock.advance(20)
            let isBound = mode == .shared || word == "must-revalidate" || word == "no-cache"
            #expect(
                try await scene.get("/", [.cacheControl: "max-stale=100"]) == (isBound ? "200 2 miss" : "200 1 stale"))
        }
    }

    @Test("RFC 8246: an immutable response is not validated by a reload while it is fresh")
    func immutable() async throws {
        let scene = try await CacheScene { request, number in
            Self.validating(number, request, [.eTag: "\"a\"", .cacheControl: "max-age=10, immutable"])
        }
        _ = try await scene.get()
        #expect(try await scene.get("/", [.cacheControl: "max-age=0"]) == "200 1 hit")
        #expect(try await scene.get("/", [.cacheControl: "no-cache"]) == "200 1 revalidated")
        scene.clock.advance(20)
        #expect(try await scene.get("/", [.cacheControl: "max-age=0"]) == "200 1 revalidated")
    }

    @Test(
        "RFC 5861 §4: stale-if-error replaces errors of a server for the given time", arguments: [500, 502, 503, 504])
    func staleIfError(_ code: Int) async throws {
        let scene = try await CacheScene { _, number in
            number == 1
                ? .numbered(1, [.cacheControl: "max-age=10, stale-if-error=30"]) : .numbered(number, [:], code)
        }
        _ = try await scene.get()
        scene.clock.advance(40)
        #expect(try await scene.get() == "200 1 stale")
        scene.clock.advance(1)
        #expect(try await scene.get() == "\(code) 3 miss")
        #expect(try await scene.get("/", [.cacheControl: "stale-if-error=60"]) == "200 1 stale")
    }

    @Test("§5.2.1.4: a request with no-cache gets no stale response after an error of the server")
    func noCacheAfterError() async throws {
        let scene = try await CacheScene { _, number in
            number == 1
                ? .numbered(1, [.cacheControl: "max-age=10, stale-if-error=30"]) : .numbered(number, [:], 503)
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get("/", [.cacheControl: "no-cache"]) == "503 2 miss")
        #expect(try await scene.get("/", [.pragma: "no-cache"]) == "503 3 miss")
        #expect(try await scene.get("/", [.cacheControl: "max-age=0"]) == "200 1 stale")
        #expect(try await scene.get(policy: .noCache) == "200 1 stale")
    }

    @Test("RFC 5861 §4: stale-if-error replaces connection failures, and other errors are thrown")
    func staleIfGone() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=10, stale-if-error=30"]) }
        _ = try await scene.get()
        _ = try await scene.get("/other")
        scene.clock.advance(20)
        await scene.server.shutdown()
        #expect(try await scene.get() == "200 1 stale")
        scene.clock.advance(100)
        let error = await curlewError { _ = try await scene.get() }
        #expect(error?.stage == .connecting)
    }

    @Test("an option lets stored responses replace errors of a server, unless the response forbids it")
    func servesStale() async throws {
        let scene = try await CacheScene { cache in
            cache.servesStaleOnFailure = true
        } answer: { request, number in
            guard number <= 2 else { return .numbered(number, [:], 503) }
            return .numbered(
                number, [.cacheControl: request.path == "/strict" ? "max-age=1, must-revalidate" : "max-age=1"])
        }
        _ = try await scene.get()
        _ = try await scene.get("/strict")
        scene.clock.advance(1_000_000)
        #expect(try await scene.get() == "200 1 stale")
        #expect(try await scene.get("/strict").hasPrefix("503"))
    }

    @Test("RFC 5861 §3: stale-while-revalidate answers at once, and validates once in the background")
    func staleWhileRevalidate() async throws {
        let gate = Gate()
        let scene = try await CacheScene { request, number in
            if number > 1 { try await gate.wait() }
            return Self.validating(
                number, request, [.eTag: "\"a\"", .cacheControl: "max-age=10, stale-while-revalidate=30"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        for _ in 0..<5 { #expect(try await scene.get() == "200 1 stale") }
        try await scene.waitForRequests(2)
        gate.open()
        try await eventually("the response is validated") { try await scene.get() == "200 1 hit" }
        #expect(scene.server.requestCount == 2)
        scene.clock.advance(100)
        #expect(try await scene.get() == "200 1 revalidated")
    }

    @Test("a background validation that returns a full response stores it")
    func replacedBehind() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=10, stale-while-revalidate=30"]) }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        try await eventually("the new response is stored") { try await scene.get() == "200 2 hit" }
        #expect(scene.server.requestCount == 2)
    }

    @Test("a failed background validation keeps the stored response, and another may follow")
    func failedBehind() async throws {
        let scene = try await CacheScene { _, number in
            number == 2
                ? .numbered(2, [:], 500) : .numbered(number, [.cacheControl: "max-age=10, stale-while-revalidate=30"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        try await eventually("the new response is stored") { try await scene.get() == "200 3 hit" }
    }

    @Test("a session that is shut down ends its background validations")
    func shutdown() async throws {
        let scene = try await CacheScene { _, number in
            if number > 1 { try await untilCancelled() }
            return .numbered(number, [.cacheControl: "max-age=10, stale-while-revalidate=30"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.get() == "200 1 stale")
        try await scene.waitForRequests(2)
        await scene.api.shutdown(deadline: .zero)
        try await scene.server.waitForConnections(open: 0)
    }

    @Test(
        "the cache modes of the Fetch standard as policies of a request",
        arguments: [
            (.standard, "200 1 hit", "200 1 revalidated"), (.noStore, "200 2 bypass", "200 2 bypass"),
            (.reload, "200 2 miss", "200 2 miss"), (.noCache, "200 1 revalidated", "200 1 revalidated"),
            (.forceCache, "200 1 hit", "200 1 stale"), (.onlyIfCached, "200 1 hit", "200 1 stale"),
        ] as [(HTTPCache.Policy, String, String)])
    func policies(_ policy: HTTPCache.Policy, _ fresh: String, _ stale: String) async throws {
        for (age, expected) in [(5, fresh), (20, stale)] as [(Int64, String)] {
            let scene = try await CacheScene { request, number in
                Self.validating(number, request, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
            }
            _ = try await scene.get()
            scene.clock.advance(age)
            #expect(try await scene.get(policy: policy) == expected)
            // This request returns the stored response. It shows if the policy has replaced the response.
            let after = try await scene.get(policy: .onlyIfCached)
            #expect(after.hasPrefix(policy == .reload ? "200 2" : "200 1"))
            if policy == .reload {
                _ = await scene.server.takeRequest()
                let sent = await scene.server.takeRequest()
                #expect(sent?.fields[.cacheControl] == "no-cache")
                #expect(sent?.fields[.pragma] == "no-cache")
                #expect(sent?.fields[.ifNoneMatch] == nil)
            }
        }
        let empty = try await CacheScene { .numbered($1) }
        #expect(try await empty.get(policy: policy).hasPrefix(policy == .onlyIfCached ? "504" : "200 1"))
    }
}
