import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The limit of concurrent requests", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct ConcurrencyLimiterTests {
    private func figures(_ limiter: ConcurrencyLimiter) -> ConcurrencyLimiter.Figures? { limiter.figures.values.first }

    private func waitForWaiting(_ count: Int, _ limiter: ConcurrencyLimiter) async throws {
        try await eventually("\(count) wait") { figures(limiter)?.waiting == count }
    }

    @Test("a request waits until the body of another was read")
    func waiting() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 4 << 20)) }
        let limiter = ConcurrencyLimiter(.fixed(1))
        let session = try makeSession { limiter }
        let first = try await session.get(.raw(server.url("/1")))
        let second = Task { try await session.fetch(server.url("/2")) }
        try await waitForWaiting(1, limiter)
        #expect(server.requestCount == 1)
        #expect(try await first.body.collect(upTo: .mebibytes(8)).count == 4 << 20)
        #expect(try await second.value.count == 4 << 20)
        try await eventually("no place is taken") { figures(limiter)?.inFlight == 0 }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("the slot is released when a response is dropped unread, fails, or is cancelled")
    func places() async throws {
        let server = try await MockServer.start { request in
            if request.path == "/stall" { try await untilCancelled() }
            return MockResponse(body: .pattern(count: 4 << 20))
        }
        let limiter = ConcurrencyLimiter(.fixed(1))
        let session = try makeSession { limiter }
        do { _ = try await session.get(.raw(server.url("/dropped"))) }
        try await eventually("the place of the dropped one is free") { figures(limiter)?.inFlight == 0 }
        let refused = try RefusedPort.unused()
        let error = await curlewError { _ = try await session.get(.raw(refused.url())) }
        #expect(error?.code == .connectionRefused)
        let stalled = Task { try await session.fetch(server.url("/stall")) }
        try await server.waitForRequests(2)
        stalled.cancel()
        _ = await stalled.result
        try await eventually("no place is taken") { limiter.figures.values.allSatisfy { $0.inFlight == 0 } }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("over a transport that is not a session the slot is released at the head")
    func stub() async throws {
        let limiter = ConcurrencyLimiter(.fixed(1), queue: .none)
        let stub = StubTransport { _ in .response(body: .string("x")) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        let response = try await session.get("http://a.test/")
        #expect(figures(limiter)?.inFlight == 0)
        #expect(try await session.get("http://a.test/").status == .ok)
        withExtendedLifetime(response) {}
    }

    @Test("a thousand waiters that are cancelled at once leave no state behind, and the next request is sent")
    func cancelledWaiters() async throws {
        let server = try await MockServer.start { request in
            if request.path == "/stall" { try await untilCancelled() }
            return MockResponse(body: "ok")
        }
        let limiter = ConcurrencyLimiter(.fixed(1))
        let session = try makeSession { limiter }
        let stalled = Task { try await session.fetch(server.url("/stall")) }
        try await server.waitForRequests(1)
        let waiters = (0..<1000).map { _ in Task { try await session.fetch(server.url("/")) } }
        try await waitForWaiting(1000, limiter)
        for waiter in waiters { waiter.cancel() }
        for waiter in waiters {
            #expect(await curlewError { _ = try await waiter.value }?.code == .cancelled)
        }
        #expect(figures(limiter) == .init(inFlight: 1, waiting: 0, limit: 1))
        stalled.cancel()
        _ = await stalled.result
        #expect(try await session.fetch(server.url("/")) == Array("ok".utf8))
        #expect(server.requestCount == 2)
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a wait beyond the queue's time limit is an overload error, and the request is not sent")
    func queueTimeout() async throws {
        let clock = TestClock()
        let limiter = ConcurrencyLimiter(.fixed(1), queue: LoadQueue(timeout: .seconds(5)), clock: clock)
        let stub = StubTransport { _ in .stall }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        let first = Task { try await session.get("http://a.test/1") }
        try await stub.waitForRequests(1)
        let second = Task { try await session.get("http://a.test/2") }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        let error = await curlewError { _ = try await second.value }
        #expect(error?.code == .overloaded && error?.code.isTransient == false)
        #expect(error?.uri?.path == "/2")
        first.cancel()
        _ = await first.result
        #expect(stub.received.count == 1)
    }

    @Test("a wait in the queue uses up the call's time limit, and ends when none is left")
    func totalTimeout() async throws {
        let clock = TestClock()
        let limiter = ConcurrencyLimiter(.fixed(1), clock: clock)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stub = StubTransport { request in
            if request.index == 0 { for await _ in gate {} }
            return .response(.ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            limiter
            Link { request, next in
                #expect(request.uri.path == "/first" || request.options.totalTimeout == .seconds(7))
                return try await next(request)
            }
        }
        let first = Task { try await session.get("http://a.test/first") }
        try await stub.waitForRequests(1)
        let patient = Task {
            try await session.get("http://a.test/patient", options: RequestOptions(totalTimeout: .seconds(9)))
        }
        try await clock.waitForSleepers(1)
        let hasty = Task {
            try await session.get("http://a.test/hasty", options: RequestOptions(totalTimeout: .seconds(1)))
        }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        #expect(await curlewError { _ = try await hasty.value }?.code == .totalTimeout)
        open.finish()
        #expect(try await first.value.status == .ok)
        #expect(try await patient.value.status == .ok)
    }

    @Test("the oldest of the queue is dropped for a newcomer if configured")
    func dropsOldest() async throws {
        let limiter = ConcurrencyLimiter(.fixed(1), queue: LoadQueue(capacity: 1, dropsOldest: true))
        let stub = StubTransport { request in request.index == 0 ? .stall : .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        let first = Task { try await session.get("http://a.test/1") }
        try await stub.waitForRequests(1)
        let oldest = Task { try await session.get("http://a.test/2") }
        try await waitForWaiting(1, limiter)
        let newest = Task { try await session.get("http://a.test/3") }
        #expect(await curlewError { _ = try await oldest.value }?.code == .overloaded)
        first.cancel()
        #expect(try await newest.value.status == .ok)
    }

    @Test("a limiter without a queue refuses at once, and Retry does not repeat the call")
    func refusal() async throws {
        let limiter = ConcurrencyLimiter(.fixed(1), queue: .none)
        let stub = StubTransport { _ in .stall }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            quickRetry()
            limiter
        }
        let first = Task { try await session.get("http://a.test/1") }
        try await stub.waitForRequests(1)
        let error = await curlewError { _ = try await session.get("http://a.test/2") }
        #expect(error?.code == .overloaded && error?.attempts == 1)
        #expect(error?.message.contains("http://a.test:80") == true)
        first.cancel()
        _ = await first.result
    }

    @Test("a bulkhead separates the slots of its tags, and requests without a scope are unlimited")
    func scopes() async throws {
        let stub = StubTransport { request in request.path == "/stall" ? .stall : .response(.ok) }
        let bulkhead = ConcurrencyLimiter(.fixed(1), per: .tag, queue: .none)
        let some = ConcurrencyLimiter(
            .fixed(1), per: .custom { $0.uri.path == "/free" ? nil : $0.uri.path }, queue: .none)
        let session = try HTTPSession(transport: stub, chain: .bare) {
            bulkhead
            some
        }
        let stalled = Task {
            try await session.get("http://a.test/stall", options: RequestOptions(tag: "reports"))
        }
        try await stub.waitForRequests(1)
        let error = await curlewError {
            _ = try await session.get("http://b.test/", options: RequestOptions(tag: "reports"))
        }
        #expect(error?.code == .overloaded && error?.message.contains("reports") == true)
        #expect(try await session.get("http://a.test/free", options: RequestOptions(tag: "users")).status == .ok)
        #expect(try await session.get("http://a.test/free").status == .ok)
        #expect(Set(bulkhead.figures.keys) == ["reports", "users", ""])
        #expect(Set(some.figures.keys) == ["/stall"])
        stalled.cancel()
        _ = await stalled.result
    }

    @Test("a call with too little time for an answer is refused before it is sent")
    func shedding() async throws {
        let clock = TestClock()
        let limiter = ConcurrencyLimiter(.fixed(4), clock: clock)
        let stub = StubTransport { _ in
            clock.advance(by: .seconds(2))
            return .response(.ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        for _ in 0..<10 { _ = try await session.get("http://a.test/") }
        let error = await curlewError {
            _ = try await session.get("http://a.test/", options: RequestOptions(totalTimeout: .seconds(1)))
        }
        #expect(error?.code == .deadlineUnreachable && stub.received.count == 10)
        #expect(
            try await session.get("http://a.test/", options: RequestOptions(totalTimeout: .seconds(3))).status == .ok)
    }

    @Test("an adaptive limit shrinks if the server refuses, and grows again if it does not")
    func adaptive() async throws {
        let clock = TestClock()
        let limiter = ConcurrencyLimiter(.additive(from: 2, within: 1...4), clock: clock)
        let stub = StubTransport { request in
            clock.advance(by: .seconds(1))
            return .response(request.path == "/busy" ? .serviceUnavailable : .ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        for _ in 0..<10 { _ = try await session.get("http://a.test/busy") }
        #expect(figures(limiter)?.limit == 1)
        for _ in 0..<20 { _ = try await session.get("http://a.test/") }
        #expect((figures(limiter)?.limit ?? 0) > 1)
    }

    @Test("the number of idle groups is limited, and groups with running requests always stay")
    func groups() async throws {
        let limiter = ConcurrencyLimiter(.fixed(1))
        let stub = StubTransport { request in request.path == "/stall" ? .stall : .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        let stalled = Task { try await session.get("http://stalled.test/stall") }
        try await stub.waitForRequests(1)
        for number in 0..<(LoadScope.groupLimit + 10) { _ = try await session.get(.raw("http://h\(number).test/")) }
        #expect(limiter.figures.count <= LoadScope.groupLimit)
        #expect(limiter.figures["http://stalled.test:80"]?.inFlight == 1)
        stalled.cancel()
        _ = await stalled.result
    }

    @Test("a group stays while a request has not received its verdict")
    func undeliveredVerdict() async throws {
        let queue = LoadQueue(capacity: 1, dropsOldest: true)
        let core = ConcurrencyLimiter.Core(.fixed(1), .origin, queue, .continuous)
        var dropped = try CurlewRequest(.get, CurlewURI("http://a.test/1"))
        var admitted = try CurlewRequest(.get, CurlewURI("http://a.test/2"))
        let droppedArrival: ConcurrencyLimiter.Core.Arrival
        let admittedArrival: ConcurrencyLimiter.Core.Arrival
        do {
            let slot = core.arrive(try CurlewRequest(.get, CurlewURI("http://a.test/0")))
            droppedArrival = core.arrive(dropped)
            admittedArrival = core.arrive(admitted)
            withExtendedLifetime(slot) {}
        }
        do { _ = try await core.wait(&admitted, admittedArrival) }
        #expect(core.figures["http://a.test:80"] == .init(inFlight: 0, waiting: 0, limit: 1))
        for number in 0..<LoadScope.groupLimit {
            _ = core.arrive(try CurlewRequest(.get, CurlewURI("http://h\(number).test/")))
        }
        try #require(core.figures["http://a.test:80"] != nil)
        let error = await curlewError { _ = try await core.wait(&dropped, droppedArrival) }
        #expect(error?.code == .overloaded)
    }

    @Test("a closure that names groups may query the link itself")
    func closure() async throws {
        let seen = Guarded(0)
        let box = Guarded<ConcurrencyLimiter?>(nil)
        let limiter = ConcurrencyLimiter(
            .fixed(1),
            per: .custom { request in
                seen.withLock { $0 += 1 }
                return (box.withLock { $0 }?.figures.count).map { _ in request.uri.path }
            })
        box.withLock { $0 = limiter }
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { limiter }
        for _ in 0..<2 { #expect(try await session.get("http://a.test/x").status == .ok) }
        #expect(limiter.figures["/x"] == .init(inFlight: 0, waiting: 0, limit: 1))
        #expect(seen.withLock { $0 } == 2)
        box.withLock { $0 = nil }
    }

    @Test("around Retry, a slot is held to the end of the body of the last attempt")
    func aroundRetry() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 4 << 20)) }
        server.enqueue(MockResponse(status: .serviceUnavailable))
        let limiter = ConcurrencyLimiter(.fixed(1))
        let session = try makeSession {
            limiter
            quickRetry(2)
        }
        let response = try await session.get(.raw(server.url()))
        #expect(response.attempts == 2 && figures(limiter)?.inFlight == 1)
        #expect(try await response.body.collect(upTo: .mebibytes(8)).count == 4 << 20)
        try await eventually("no place is taken") { figures(limiter)?.inFlight == 0 }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a wait in another limiter does not count towards the server's latency")
    func innerWait() async throws {
        let clock = TestClock()
        let outer = ConcurrencyLimiter(.additive(from: 8), clock: clock)
        let inner = ConcurrencyLimiter(.fixed(1), queue: LoadQueue(shedsLateCalls: false), clock: clock)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stub = StubTransport { request in
            if request.index == 0 { for await _ in gate {} }
            return .response(.ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            outer
            inner
        }
        let first = Task { try await session.get("http://a.test/") }
        try await stub.waitForRequests(1)
        let hasty = Task {
            try await session.get("http://a.test/", options: RequestOptions(totalTimeout: .seconds(1)))
        }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(await curlewError { _ = try await hasty.value }?.code == .totalTimeout)
        #expect(figures(outer)?.limit == 8)
        open.finish()
        _ = try await first.value
    }
}
