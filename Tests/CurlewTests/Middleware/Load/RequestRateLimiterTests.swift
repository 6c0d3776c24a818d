import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The rate limit of requests", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RequestRateLimiterTests {
    @Test("requests beyond the burst wait")
    func rate() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let clock = TestClock()
        let limiter = RequestRateLimiter(
            .perSecond(1, burst: 2), queue: LoadQueue(timeout: Timeouts.unlimited), clock: clock)
        let session = try makeSession { limiter }
        for _ in 0..<2 { _ = try await session.fetch(server.url()) }
        let calls = (0..<2).map { _ in Task { try await session.fetch(server.url()) } }
        for count in 1...2 {
            try await eventually("\(3 - count) wait") { limiter.waiting == 3 - count }
            // Waits without a limit do not sleep on the clock: the sleeper is the wait for the next turn.
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            try await server.waitForRequests(2 + count)
        }
        for call in calls { #expect(try await call.value == Array("ok".utf8)) }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a request waits for its turn without repeated attempts, if the limiter's clock cannot wait")
    func brokenClock() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let clock = BrokenClock()
        let limiter = RequestRateLimiter(
            .perSecond(1, burst: 1), queue: LoadQueue(timeout: Timeouts.unlimited), clock: clock)
        let session = try makeSession { limiter }
        // Both ask for a turn at once: the second one waits for a second, however slow the responses are.
        async let first = session.fetch(server.url())
        async let second = session.fetch(server.url())
        #expect(try await [first, second] == [Array("ok".utf8), Array("ok".utf8)])
        #expect((1...3).contains(clock.sleeps))
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a 429 to one call slows down all calls of the session")
    func shared() async throws {
        let server = try await MockServer.start { request in
            request.path == "/first"
                ? MockResponse(status: .tooManyRequests, fields: [.retryAfter: "20"]) : MockResponse(body: "ok")
        }
        let clock = TestClock()
        let limiter = RequestRateLimiter(clock: clock)
        let session = try makeSession { limiter }
        #expect(try await session.get(.raw(server.url("/first"))).status == .tooManyRequests)
        let hasty = await curlewError {
            _ = try await session.get(.raw(server.url()), options: RequestOptions(totalTimeout: .seconds(5)))
        }
        #expect(hasty?.code == .deadlineUnreachable)
        let calls = (0..<50).map { _ in Task { try await session.fetch(server.url()) } }
        try await eventually("all wait") { limiter.waiting == 50 }
        #expect(server.requestCount == 1)
        // The waiters sleep for the queue's time limit, and the clock only advances by the server's wait.
        for _ in 0..<20 {
            try await clock.waitForSleepers(51)
            clock.advance(by: .seconds(1))
        }
        for call in calls { #expect(try await call.value == Array("ok".utf8)) }
        #expect(server.requestCount == 51)
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a Retry-After beyond the queue's limit fails later calls at once")
    func tooLong() async throws {
        let stub = StubTransport { _ in .response(.tooManyRequests, fields: [.retryAfter: "9223372036854775808"]) }
        let limiter = RequestRateLimiter(clock: TestClock())
        let session = try HTTPSession(transport: stub, chain: .bare) {
            quickRetry()
            limiter
        }
        let response = try await session.get("http://a.test/")
        #expect(response.status == .tooManyRequests && stub.received.count == 1)
        let error = await curlewError { _ = try await session.get("http://a.test/") }
        #expect(error?.code == .rateLimited && error?.attempts == 1)
        #expect(error?.message.contains("3600") == true)
        #expect(try await session.get("http://b.test/").status == .tooManyRequests)
    }

    @Test("a used-up quota of one server stops requests to this server, but not to others")
    func hostileServer() async throws {
        let stub = StubTransport { request in
            request.request.uri.host == "hostile.test"
                ? .response(.ok, fields: [.init("RateLimit-Remaining")!: "0", .init("RateLimit-Reset")!: "3600"])
                : .response(.ok)
        }
        let limiter = RequestRateLimiter(.perSecond(100, burst: 100), per: .all, clock: TestClock())
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        #expect(try await session.get("http://hostile.test/").status == .ok)
        let error = await curlewError { _ = try await session.get("http://hostile.test/") }
        #expect(error?.code == .rateLimited)
        for _ in 0..<20 { #expect(try await session.get("http://good.test/").status == .ok) }
        #expect(stub.received.count == 21)
    }

    @Test("requests wait for the reset of a used-up quota")
    func quota() async throws {
        let stub = StubTransport { request in
            .response(.ok, fields: [.init("RateLimit")!: #""q";r=\#(request.index == 0 ? 1 : 0);t=10"#])
        }
        let clock = TestClock()
        let limiter = RequestRateLimiter(clock: clock)
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        for _ in 0..<2 { _ = try await session.get("http://a.test/") }
        let call = Task { try await session.get("http://a.test/") }
        try await eventually("it waits") { limiter.waiting == 1 }
        #expect(stub.received.count == 2)
        for _ in 0..<10 {
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(1))
        }
        #expect(try await call.value.status == .ok)
    }

    @Test("a thousand waiters that are cancelled at once leave no state behind")
    func cancelledWaiters() async throws {
        let clock = TestClock()
        let limiter = RequestRateLimiter(
            .perMinute(6, burst: 1), queue: LoadQueue(timeout: .seconds(100_000)), clock: clock)
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        _ = try await session.get("http://a.test/")
        let waiters = (0..<1000).map { _ in Task { try await session.get("http://a.test/") } }
        try await eventually("all wait") { limiter.waiting == 1000 }
        for waiter in waiters { waiter.cancel() }
        for waiter in waiters { #expect(await curlewError { _ = try await waiter.value }?.code == .cancelled) }
        #expect(limiter.waiting == 0)
        try await eventually("nothing sleeps") { clock.sleeperCount == 0 }
        // The next request is sent at once, because cancelled waiters have used no turn.
        clock.advance(by: .seconds(10))
        #expect(try await session.get("http://a.test/").status == .ok)
    }

    @Test("a request of higher priority is sent first")
    func priority() async throws {
        let clock = TestClock()
        let limiter = RequestRateLimiter(
            .perSecond(1, burst: 1), queue: LoadQueue(timeout: Timeouts.unlimited), clock: clock)
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        _ = try await session.get("http://a.test/first")
        let low = Task {
            try await session.get(
                "http://a.test/low", options: RequestOptions().setting(\.priority, to: .background))
        }
        try await eventually("one waits") { limiter.waiting == 1 }
        let high = Task {
            try await session.get("http://a.test/high", options: RequestOptions().setting(\.priority, to: .high))
        }
        try await eventually("two wait") { limiter.waiting == 2 }
        // Each request arrives at the server before the next turn: two calls that are released at once would race.
        for received in [2, 3] {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
            try await eventually("\(received) have arrived") { stub.received.count == received }
        }
        _ = try await (low.value, high.value)
        #expect(stub.received.map(\.path) == ["/first", "/high", "/low"])
    }
}
