import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("Coalesced requests", .noLeaks, .timeLimit(.minutes(2)))
struct CoalescingTests {
    /// A server that answers when a test opens the gate, and a session that coalesces equal requests.
    private struct Scene: Sendable {
        let gate = Gate()
        let server: MockServer
        let api: HTTPSession
        let clock = TestClock()
        let link: Coalescing

        init(
            limit: ByteSize = .mebibytes(1), body: MockResponse.Body? = nil, fields: HTTPFields = [:], code: Int = 200
        ) async throws {
            let gate = gate
            let count = Guarded(0)
            let server = try await MockServer.start { request in
                let number = count.withLock { count -> Int in
                    count += 1
                    return count
                }
                try await gate.wait()
                return MockResponse(status: .init(code: code), fields: fields, body: body ?? .string("\(number)"))
            }
            let link = Coalescing(upTo: limit, clock: clock)
            self.link = link
            var configuration = SessionConfiguration()
            configuration.userAgent = nil
            self.server = server
            api = try HTTPSession(
                baseURL: server.url(), configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")],
                chain: .bare
            ) { link }
        }

        /// Starts a request, and returns once it has joined the others.
        func begin(
            _ path: String = "/", _ fields: HTTPFields = [:], options: RequestOptions = RequestOptions()
        ) -> Task<String, any Error> {
            let (api, server) = (api, server)
            return Task {
                let request = try CurlewRequest(.get, server.url(path), fields: fields, options: options)
                let response = try await api.send(request)
                let bytes = try await response.body.collect(upTo: .mebibytes(64))
                let text = bytes.count > 100 ? "\(bytes.count)" : String(decoding: bytes, as: UTF8.self)
                return "\(response.status.code) \(text) \(response.cacheStatus?.rawValue ?? "-")"
            }
        }

        func open() { gate.open() }
    }

    /// Returns once this number of requests has joined one exchange.
    private func joined(_ scene: Scene, _ count: Int) async throws {
        try await eventually("they wait") { scene.link.memberCount == count }
    }

    @Test("a request without an answer for 30 seconds is not joined")
    func silentServer() async throws {
        let stub = StubTransport { request in request.index == 0 ? .stall : .response(.ok, body: "quick") }
        let clock = TestClock()
        let link = Coalescing(clock: clock)
        let session = try HTTPSession(transport: stub, chain: .bare) { link }
        let first = Task { try await session.get("http://a.test/") }
        try await eventually("the first is under way") { stub.received.count == 1 }
        clock.advance(by: .seconds(29))
        let second = Task { try await session.get("http://a.test/") }
        try await eventually("the second waits with it") { link.memberCount == 2 }
        clock.advance(by: .seconds(1))
        #expect(try await session.get("http://a.test/").body.collect(upTo: 10) == Array("quick".utf8))
        #expect(stub.received.count == 2)
        for task in [first, second] {
            task.cancel()
            _ = await task.result
        }
    }

    @Test("concurrent equal requests are sent once, and each gets the response")
    func once() async throws {
        let scene = try await Scene()
        let tasks = (0..<20).map { _ in scene.begin() }
        try await joined(scene, 20)
        scene.open()
        var answers: [String: Int] = [:]
        for task in tasks { answers[try await task.value, default: 0] += 1 }
        #expect(answers == ["200 1 -": 1, "200 1 coalesced": 19])
        #expect(scene.server.requestCount == 1)
    }

    @Test("a request after the end of an exchange is sent again")
    func behind() async throws {
        let scene = try await Scene()
        scene.open()
        #expect(try await scene.begin().value == "200 1 -")
        #expect(try await scene.begin().value == "200 2 -")
    }

    @Test("requests with different URI, fields, credentials or partition are not coalesced")
    func different() async throws {
        let scene = try await Scene()
        var partition = RequestOptions()
        partition.cachePartition = "1"
        var limited = RequestOptions()
        limited.addressPolicy = .any
        let tasks = [
            scene.begin("/"), scene.begin("/?a"), scene.begin("/", [.accept: "a"]),
            scene.begin("/", [.authorization: "Bearer 1"]), scene.begin("/", [.authorization: "Bearer 2"]),
            scene.begin("/", [.cookie: "a=1"]), scene.begin("/", [:], options: partition),
            scene.begin("/", [:], options: limited), scene.begin("/", [:], options: limited),
        ]
        try await scene.server.waitForRequests(tasks.count)
        scene.open()
        for task in tasks { #expect(try await task.value.hasSuffix("-")) }
    }

    @Test("cancelling one of the joined requests, the first included, does not affect the others", arguments: [0, 1])
    func cancellation(_ cancelled: Int) async throws {
        let scene = try await Scene()
        let tasks = (0..<3).map { _ in scene.begin() }
        try await scene.server.waitForRequests(1)
        try await joined(scene, 3)
        tasks[cancelled].cancel()
        let error = await curlewError { _ = try await tasks[cancelled].value }
        #expect(error?.code == .cancelled)
        scene.open()
        for (index, task) in tasks.enumerated() where index != cancelled {
            #expect(try await task.value.hasPrefix("200 1"))
        }
        #expect(scene.server.requestCount == 1)
    }

    @Test("the exchange ends when the last joined request is cancelled")
    func last() async throws {
        let scene = try await Scene()
        let tasks = (0..<3).map { _ in scene.begin() }
        try await scene.server.waitForRequests(1)
        try await joined(scene, 3)
        for task in tasks { task.cancel() }
        for task in tasks { _ = await curlewError { _ = try await task.value } }
        try await scene.server.waitForConnections(open: 0)
    }

    @Test("a body beyond the limit belongs to the first request, and the others are sent", arguments: [false, true])
    func tooLarge(_ knowsLength: Bool) async throws {
        let body: MockResponse.Body =
            knowsLength
            ? .pattern(count: 300_000)
            : .stream { writer in
                for _ in 0..<3 { try await writer.write([UInt8](repeating: 7, count: 100_000)) }
            }
        let scene = try await Scene(limit: .kibibytes(64), body: body)
        let tasks = (0..<4).map { _ in scene.begin() }
        try await joined(scene, 4)
        scene.open()
        for task in tasks { #expect(try await task.value == "200 300000 -") }
        #expect(scene.server.requestCount == 4)
    }

    @Test("an event stream is not shared")
    func events() async throws {
        let scene = try await Scene(
            body: .stream { try await $0.write("data: 1\n\n") }, fields: [.contentType: "text/event-stream"])
        let tasks = (0..<3).map { _ in scene.begin() }
        try await joined(scene, 3)
        scene.open()
        for task in tasks { #expect(try await task.value.hasSuffix("-")) }
        #expect(scene.server.requestCount == 3)
    }

    @Test("a body that does not end in time is not awaited by the other requests")
    func bodyTimeout() async throws {
        let end = Gate()
        let isFirst = Guarded(true)
        let scene = try await Scene(
            body: .stream { writer in
                let waits = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                try await writer.write("slow ")
                if waits { try await end.wait() }
                try await writer.write("body")
            })
        let tasks = (0..<3).map { _ in scene.begin() }
        try await joined(scene, 3)
        scene.open()
        try await scene.clock.waitForSleepers(1)
        scene.clock.advance(by: .seconds(1))
        try await scene.server.waitForRequests(3)
        end.open()
        for task in tasks { #expect(try await task.value == "200 slow body -") }
    }

    @Test("an error before the head is thrown by all joined requests")
    func failure() async throws {
        let scene = try await Scene()
        try scene.server.inject(Fault(.atResponseStart, .reset), at: .every)
        let tasks = (0..<3).map { _ in scene.begin() }
        scene.open()
        for task in tasks {
            let error = await curlewError { _ = try await task.value }
            #expect(error != nil)
        }
    }

    @Test("a body that breaks off fails only the first request, and the others are sent")
    func breaksOff() async throws {
        let isFirst = Guarded(true)
        let scene = try await Scene(
            body: .stream(length: 8) { writer in
                let breaks = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                try await writer.write("half")
                if breaks { throw CancellationError() }
                try await writer.write("half")
            })
        let tasks = (0..<3).map { _ in scene.begin() }
        try await joined(scene, 3)
        scene.open()
        var answers: [String: Int] = [:]
        for task in tasks {
            do { answers[try await task.value, default: 0] += 1 } catch { answers["error", default: 0] += 1 }
        }
        #expect(answers == ["error": 1, "200 halfhalf -": 2])
    }

    @Test("the exchange ends if the first reader leaves a large body that has no other reader")
    func largeBodyLeft() async throws {
        let scene = try await Scene(
            limit: .kibibytes(1),
            body: .stream { writer in while true { try await writer.write([UInt8](repeating: 7, count: 4096)) } })
        let (api, url) = (scene.api, scene.server.url())
        let tasks = (0..<2).map { _ in
            Task {
                let response = try await api.send(CurlewRequest(.get, url))
                var iterator = response.body.makeAsyncIterator()
                _ = try await iterator.next()
            }
        }
        try await joined(scene, 2)
        scene.open()
        for task in tasks { try await task.value }
        try await scene.server.waitForConnections(open: 0)
    }

    @Test(
        "a response with a cookie or no-store is not shared",
        arguments: [
            [.setCookie: "session=1"], [.cacheControl: "no-store"], [.cacheControl: "max-age=60, No-Store"],
        ] as [HTTPFields])
    func unshared(_ fields: HTTPFields) async throws {
        let scene = try await Scene(fields: fields)
        let tasks = (0..<3).map { _ in scene.begin() }
        try await joined(scene, 3)
        scene.open()
        for task in tasks { #expect(try await task.value.hasSuffix("-")) }
        #expect(scene.server.requestCount == 3)
    }

    @Test("a first reader that leaves its body does not affect the others")
    func readerLeaves() async throws {
        let rest = Gate()
        let scene = try await Scene(
            body: .stream(length: 8) { writer in
                try await writer.write("half")
                try await rest.wait()
                try await writer.write("half")
            })
        let (api, url) = (scene.api, scene.server.url())
        let first = Task {
            let response = try await api.send(CurlewRequest(.get, url))
            _ = response.status
        }
        try await scene.server.waitForRequests(1)
        let second = scene.begin()
        try await joined(scene, 2)
        scene.open()
        try await first.value
        rest.open()
        #expect(try await second.value == "200 halfhalf coalesced")
        #expect(scene.server.requestCount == 1)
    }

    @Test(
        "a cache coalesces requests for expired responses, and shares the fresh result",
        arguments: ["max-age=60", "no-store", "max-age=0"])
    func inCache(_ directive: String) async throws {
        let gate = Gate()
        let scene = try await CacheScene { request, number in
            guard number > 1 else { return .numbered(1, [.cacheControl: "max-age=60"]) }
            try await gate.wait()
            return .numbered(number, [.cacheControl: directive])
        }
        _ = try await scene.get()
        scene.clock.advance(100)
        let tasks = (0..<5).map { _ in Task { try await scene.get() } }
        try await eventually("they wait") { scene.cache.core.coalescing.memberCount == 5 }
        gate.open()
        var answers: [String] = []
        for task in tasks { answers.append(try await task.value) }
        if directive == "max-age=60" {
            #expect(answers.filter { $0 == "200 2 miss" }.count == 1)
            #expect(answers.filter { $0 == "200 2 coalesced" }.count == 4)
            #expect(scene.server.requestCount == 2)
            #expect(scene.cache.figures.coalesced == 4)
        } else {
            #expect(Set(answers).count == 5)
            #expect(answers.allSatisfy { $0.hasSuffix("miss") })
        }
    }

    @Test("several requests share one validation")
    func validation() async throws {
        let gate = Gate()
        let scene = try await CacheScene { request, number in
            guard number > 1 else { return .numbered(1, [.cacheControl: "max-age=60", .eTag: "\"a\""]) }
            try await gate.wait()
            return MockResponse(status: .notModified, fields: [.eTag: "\"a\""])
        }
        _ = try await scene.get()
        scene.clock.advance(100)
        let tasks = (0..<5).map { _ in Task { try await scene.get() } }
        try await eventually("they wait") { scene.cache.core.coalescing.memberCount == 5 }
        gate.open()
        for task in tasks { #expect(try await task.value == "200 1 revalidated") }
        #expect(scene.server.requestCount == 2)
    }
}
