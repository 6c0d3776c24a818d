import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("A cache before a server", .noLeaks, .timeLimit(.minutes(2)))
struct HTTPCacheTests {
    @Test("§4: a fresh response is served without the server, with its age; a stale one is not")
    func fresh() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        #expect(try await scene.get() == "200 1 miss")
        scene.clock.advance(59)
        let hit = try await scene.send()
        #expect(hit.description == "200 1 hit")
        #expect(hit.fields[.age] == "59")
        scene.clock.advance(1)
        #expect(try await scene.get() == "200 2 miss")
        #expect(scene.server.requestCount == 2)
        #expect(scene.cache.figures.hits == 1)
        #expect(scene.cache.figures.misses == 2)
    }

    @Test("§5.1: the Age of an intermediate cache is counted")
    func ageOnTheWay() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60", .age: "50"]) }
        _ = try await scene.get()
        scene.clock.advance(9)
        #expect(try await scene.send().fields[.age] == "59")
        scene.clock.advance(1)
        #expect(try await scene.get() == "200 2 miss")
    }

    @Test(
        "§3: statuses with explicit freshness are served again",
        arguments: [200, 203, 299, 301, 302, 307, 400, 404, 410, 500, 503])
    func statuses(_ code: Int) async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"], code) }
        #expect(try await scene.get() == "\(code) 1 miss")
        #expect(try await scene.get() == "\(code) 1 hit")
    }

    @Test(
        "a response without freshness and validator is requested again, and stored for requests that accept stale ones")
    func plain() async throws {
        let scene = try await CacheScene { .numbered($1) }
        #expect(try await scene.get() == "200 1 miss")
        #expect(try await scene.get() == "200 2 miss")
        #expect(try await scene.get(policy: .forceCache) == "200 2 stale")
    }

    @Test("§4.1: Vary selects among responses, however the fields are written, and other fields do not")
    func vary() async throws {
        let scene = try await CacheScene {
            .numbered($1, [.cacheControl: "max-age=60", .vary: "Accept-Language, Accept"])
        }
        #expect(try await scene.get("/", [.acceptLanguage: "de"]) == "200 1 miss")
        #expect(try await scene.get("/", [.acceptLanguage: "en"]) == "200 2 miss")
        #expect(try await scene.get("/", [.acceptLanguage: "DE", .userAgent: "x"]) == "200 1 hit")
        #expect(try await scene.get("/", [.acceptLanguage: "en"]) == "200 2 hit")
        #expect(try await scene.get("/", [.acceptLanguage: "en", .accept: "a"]) == "200 3 miss")
        #expect(try await scene.get("/") == "200 4 miss")
    }

    @Test("10,000 variants of one URL leave only the allowed number of entries per key")
    func variants() async throws {
        let store = HTTPCache.MemoryStore(capacity: .mebibytes(64))
        let clock = TurnableClock()
        let cache = HTTPCache(store: store) { clock.now }
        let transport = StubTransport { _ in
            .response(fields: [.cacheControl: "max-age=60", .vary: "accept"], body: "x")
        }
        let api = try HTTPSession(transport: transport, chain: .bare) { cache }
        for number in 0..<10_000 {
            _ = try await api.get(.raw("http://example.com/"), fields: [.accept: "t/\(number)"]).body.collect(upTo: 10)
        }
        #expect(store.contents.entries == 32)
        #expect(store.contents.evictions == 9_968)
    }

    @Test("concurrent equal requests leave one entry")
    func twins() async throws {
        let gate = Gate()
        let scene = try await CacheScene { _, number in
            try await gate.wait()
            return .numbered(number, [.cacheControl: "max-age=60"])
        }
        let tasks = (0..<8).map { _ in Task { try await scene.get() } }
        try await scene.waitForRequests(8)
        gate.open()
        for task in tasks { #expect(try await task.value.hasSuffix("miss")) }
        #expect(try await scene.cache.store.contents.entries == 1)
    }

    @Test("HEAD is answered from a stored GET, and stores no response itself")
    func head() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        #expect(try await scene.send(.head).description == "200  miss")
        #expect(try await scene.get() == "200 2 miss")
        let head = try await scene.send(.head)
        #expect(head.description == "200  hit")
        #expect(head.fields[.contentLength] == "1")
    }

    @Test("§4.3.5: a HEAD updates the fields of a stored response, or invalidates it")
    func headUpdates() async throws {
        let isChanged = Guarded(false)
        let scene = try await CacheScene { request, number in
            let tag = isChanged.withLock { $0 } ? "\"b\"" : "\"a\""
            return .numbered(number, [.cacheControl: "max-age=10", .eTag: tag, .server: "\(number)"])
        }
        _ = try await scene.get()
        scene.clock.advance(20)
        #expect(try await scene.send(.head).status == "miss")
        let updated = try await scene.send()
        #expect(updated.description == "200 1 hit")
        #expect(updated.fields[.server] == "2")
        scene.clock.advance(20)
        isChanged.withLock { $0 = true }
        _ = try await scene.send(.head)
        #expect(try await scene.get(policy: .onlyIfCached) == "504  miss")
    }

    @Test("trailers are stored apart from the fields, and interim responses are not stored")
    func trailers() async throws {
        let scene = try await CacheScene { _, number in
            var response = MockResponse.numbered(number, [.cacheControl: "max-age=60"])
            response.trailers = [HTTPField.Name("X-Sum")!: "7"]
            response.interim = [.init(status: .init(code: 103), fields: [.contentLocation: "/a"])]
            return response
        }
        #expect(try await scene.send().trailers[HTTPField.Name("X-Sum")!] == "7")
        let hit = try await scene.send()
        #expect(hit.status == "hit")
        #expect(hit.trailers[HTTPField.Name("X-Sum")!] == "7")
        #expect(hit.fields[HTTPField.Name("X-Sum")!] == nil)
        #expect(hit.fields[.contentLocation] == nil)
    }

    @Test("a body that its reader leaves is not stored, unless an option completes it")
    func abandoned() async throws {
        for finishes in [false, true] {
            let scene = try await CacheScene { cache in
                cache.finishesAbandonedBodies = finishes
            } answer: { _, _ in
                MockResponse(fields: [.cacheControl: "max-age=60"], body: .pattern(count: 1 << 20))
            }
            let events = scene.cache.events
            do {
                let response = try await scene.api.get(.raw(scene.server.url()))
                var iterator = response.body.makeAsyncIterator()
                _ = try await iterator.next()
            }
            if finishes {
                for await event in events { if case .stored = event { break } }
                let hit = try await scene.send()
                #expect(hit.status == "hit")
                #expect(
                    hit.text.utf8.elementsEqual(String(decoding: BytePattern.bytes(count: 1 << 20), as: UTF8.self).utf8)
                )
            } else {
                #expect(try await scene.send().status == "miss")
            }
        }
    }

    @Test("a truncated transfer is never a hit", arguments: [false, true])
    func cutShort(_ knowsLength: Bool) async throws {
        let scene = try await CacheScene { _, number in
            MockResponse(
                fields: [.cacheControl: "max-age=60"],
                body: .stream(length: knowsLength ? 10 : nil) { writer in
                    try await writer.write("12345")
                    if number == 1 { throw CancellationError() }
                    try await writer.write("67890")
                })
        }
        let error = await curlewError { _ = try await scene.send() }
        #expect(error?.stage == .receiving)
        #expect(try await scene.get() == "200 1234567890 miss")
        #expect(try await scene.get() == "200 1234567890 hit")
    }

    @Test("the hook changes or rejects a response before it is stored")
    func hook() async throws {
        let scene = try await CacheScene { cache in
            cache.willStore = { entry, request in
                guard request.uri.path != "/secret" else { return nil }
                var head = entry.head
                head.headerFields[.cacheControl] = "max-age=600"
                return entry.updating(head: head)
            }
        } answer: {
            .numbered($1, [.cacheControl: "max-age=1"])
        }
        #expect(try await scene.get() == "200 1 miss")
        scene.clock.advance(100)
        #expect(try await scene.get() == "200 1 hit")
        #expect(try await scene.get("/secret") == "200 2 miss")
        #expect(try await scene.get("/secret") == "200 3 miss")
    }

    @Test(
        "a body beyond the entry limit is not stored, with or without a known length", arguments: [false, true])
    func entryLimit(_ knowsLength: Bool) async throws {
        let scene = try await CacheScene(store: HTTPCache.MemoryStore(capacity: 20_000)) { _, _ in
            var response = MockResponse(
                fields: [.cacheControl: "max-age=60"], body: .bytes([UInt8](repeating: 7, count: 1001)))
            if !knowsLength { response.framing = .chunked }
            return response
        }
        // The limit is a twentieth of the capacity, as in NSURLCache.
        #expect(scene.cache.store.entryLimit == 1000)
        #expect(try await scene.send().status == "miss")
        #expect(try await scene.send().status == "miss")
    }

    @Test("removal covers a URI, a time range or all entries")
    func removing() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=600"]) }
        for path in ["/a", "/b", "/c"] {
            _ = try await scene.get(path)
            scene.clock.advance(10)
        }
        try await scene.cache.remove(CurlewURI(scene.server.url("/a#fragment")))
        #expect(try await scene.get("/a") == "200 4 miss")
        try await scene.cache.removeAll(since: scene.clock.now - 10)
        #expect(try await scene.get("/b") == "200 2 hit")
        #expect(try await scene.get("/c") == "200 5 miss")
        try await scene.cache.removeAll()
        #expect(try await scene.get("/b") == "200 6 miss")
    }

    @Test("RFC 9211: a named cache reports its result in Cache-Status")
    func statusField() async throws {
        let scene = try await CacheScene { cache in
            cache.statusName = "Curlew cache"
        } answer: { _, number in
            .numbered(number, [.cacheControl: "max-age=60", .cacheStatus: "Origin; hit"])
        }
        #expect(
            try await scene.send().fields[values: .cacheStatus].last
                == "\"Curlew cache\"; fwd=uri-miss; fwd-status=200; stored")
        scene.clock.advance(10)
        #expect(try await scene.send().fields[values: .cacheStatus] == ["\"Curlew cache\"; hit; ttl=50"])
        #expect(try await scene.send(.post).fields[values: .cacheStatus].last == "\"Curlew cache\"; fwd=method")
    }

    @Test("No-Vary-Search: an option lets queries that differ in irrelevant parameters share a response")
    func noVarySearch() async throws {
        for honors in [false, true] {
            let scene = try await CacheScene { cache in
                cache.honorsNoVarySearch = honors
            } answer: {
                .numbered($1, [.cacheControl: "max-age=60", .noVarySearch: "params=(\"utm\"), key-order"])
            }
            #expect(try await scene.get("/?a=1&b=2&utm=x") == "200 1 miss")
            #expect(try await scene.get("/?b=2&a=1") == (honors ? "200 1 hit" : "200 2 miss"))
            #expect(try await scene.get("/?a=2&b=2").hasSuffix("miss"))
            if honors {
                // Responses to several queries are stored under one path.
                #expect(try await scene.get("/?a=1&b=2&utm=y") == "200 1 hit")
                #expect(try await scene.get("/?b=2&a=2") == "200 2 hit")
            }
            if honors {
                _ = try await scene.send(.post, "/?a=9")
                #expect(try await scene.get("/?b=2&a=1").hasSuffix("miss"))
            }
        }
    }

    @Test("events and statistics report the results")
    func events() async throws {
        let scene = try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
        let events = scene.cache.events
        _ = try await scene.get()
        _ = try await scene.get()
        _ = try await scene.send(.post)
        var seen: [String] = []
        for await event in events {
            switch event {
            case .answered(_, let status): seen.append(status.rawValue)
            case .stored(let entry): seen.append("stored \(entry.bodySize)")
            case .invalidated(let uris): seen.append("invalidated \(uris.count)")
            case .storeFailed(let error): seen.append("\(error)")
            }
            if seen.count == 4 { break }
        }
        #expect(seen == ["miss", "stored 1", "hit", "invalidated 2"])
        let figures = scene.cache.figures
        #expect([figures.hits, figures.misses, figures.bypasses, figures.stored] == [1, 1, 1, 1])
        #expect([figures.servedBytes, figures.storedBytes] == [1, 1])
    }
}
