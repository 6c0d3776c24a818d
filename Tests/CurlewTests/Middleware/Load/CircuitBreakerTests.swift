import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Synchronization
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Circuit breakers", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct CircuitBreakerTests {
    private let policy = CircuitBreaker.Policy(minimumCalls: 3, firstWait: .seconds(5), probes: 1)

    @Test("a failing server gets no requests until the wait is over, and every listener receives the changes")
    func circuit() async throws {
        let isWell = Atomic(false)
        let server = try await MockServer.start { _ in
            MockResponse(status: isWell.load(ordering: .relaxed) ? .ok : .badGateway)
        }
        let clock = TestClock()
        let breaker = CircuitBreaker(policy, clock: clock)
        var transitions = breaker.transitions.makeAsyncIterator()
        let session = try makeSession { breaker }
        var events = session.session?.events.makeAsyncIterator()
        for _ in 0..<3 { #expect(try await session.get(.raw(server.url())).status == .badGateway) }
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        #expect(error?.code == .circuitOpen && error?.message.contains("127.0.0.1") == true)
        #expect(server.requestCount == 3)
        let opened = await transitions.next()
        #expect(opened?.from == .closed && opened?.to == .open && opened?.failures == 3 && opened?.wait == .seconds(5))
        #expect(breaker.states[opened?.group ?? ""] == .open)
        isWell.store(true, ordering: .relaxed)
        clock.advance(by: .seconds(5))
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(await transitions.next()?.to == .halfOpen)
        #expect(await transitions.next()?.to == .closed)
        var published: [CircuitTransition] = []
        while published.count < 3, let event = await events?.next() {
            if event.kind == .circuitChanged, let circuit = event.circuit { published.append(circuit) }
        }
        #expect(published.map(\.to) == [.open, .halfOpen, .closed])
        await session.shutdown()
        await server.shutdown()
    }

    @Test("each origin has its own circuit")
    func origins() async throws {
        let stub = StubTransport { request in
            request.uri.host == "bad.test" ? .failure(.connectionRefused) : .response(.ok)
        }
        let breaker = CircuitBreaker(policy)
        let session = try HTTPSession(transport: stub, chain: .bare) { breaker }
        for _ in 0..<3 { _ = await curlewError { _ = try await session.get("http://bad.test/") } }
        #expect(await curlewError { _ = try await session.get("http://bad.test/") }?.code == .circuitOpen)
        #expect(try await session.get("http://good.test/").status == .ok)
        #expect(breaker.states == ["http://bad.test:80": .open, "http://good.test:80": .closed])
    }

    @Test(
        "an error code determines whether it counts as a failure of the server",
        arguments: [
            (ErrorCode.connectionRefused, true), (.connectionLost, true), (.headTimeout, true), (.totalTimeout, true),
            (.invalidResponse, true), (.cancelled, false), (.invalidRequest, false), (.addressForbidden, false),
            (.overloaded, false), (.rateLimited, false), (.unknownIssuer, false),
        ])
    func errors(_ code: ErrorCode, _ isFailure: Bool) async throws {
        let breaker = CircuitBreaker(policy)
        let session = try HTTPSession(transport: StubTransport { _ in .failure(code) }, chain: .bare) { breaker }
        for _ in 0..<3 { _ = await curlewError { _ = try await session.get("http://a.test/") } }
        #expect(breaker.states.values.first == (isFailure ? .open : .closed))
    }

    @Test("client error statuses and 501 are not failures; a closure may decide otherwise")
    func statuses() async throws {
        for code in [400, 401, 404, 429, 501, 505] {
            let breaker = CircuitBreaker(policy)
            let stub = StubTransport { _ in .response(HTTPResponse.Status(code: code)) }
            let session = try HTTPSession(transport: stub, chain: .bare) { breaker }
            for _ in 0..<5 { _ = try await session.get("http://a.test/") }
            #expect(breaker.states.values.first == .closed, "\(code)")
        }
        var breaker = CircuitBreaker(policy)
        breaker.judge = { result in (try? result.get())?.status == .notFound ? .failure : nil }
        let stub = StubTransport { _ in .response(.notFound) }
        let session = try HTTPSession(transport: stub, chain: .bare) { [breaker] in breaker }
        for _ in 0..<3 { _ = try await session.get("http://a.test/") }
        #expect(breaker.states.values.first == .open)
    }

    @Test("an open circuit's error is not retried")
    func retry() async throws {
        let stub = StubTransport { _ in .failure(.connectionLost) }
        let breaker = CircuitBreaker(policy)
        let session = try HTTPSession(transport: stub, chain: .bare) {
            quickRetry(10)
            breaker
        }
        let error = await curlewError { _ = try await session.get("http://a.test/") }
        #expect(error?.code == .circuitOpen && error?.attempts == 4 && stub.received.count == 3)
    }

    @Test("a probe without a head blocks other calls for at most 30 seconds, then the circuit opens again")
    func silentProbe() async throws {
        let clock = TestClock()
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport { request in
            switch request.index {
            case 0..<3: .failure(.connectionLost)
            case 3: .stall
            default: .response(.ok)
            }
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { breaker }
        for _ in 0..<3 { _ = await curlewError { _ = try await session.get("http://a.test/") } }
        clock.advance(by: .seconds(5))
        let probe = Task { try await session.get("http://a.test/") }
        try await eventually("the probe is under way") { stub.received.count == 4 }
        clock.advance(by: .seconds(29))
        #expect(await curlewError { _ = try await session.get("http://a.test/") }?.code == .circuitOpen)
        #expect(breaker.states.values.first == .halfOpen)
        clock.advance(by: .seconds(1))
        #expect(await curlewError { _ = try await session.get("http://a.test/") }?.code == .circuitOpen)
        #expect(breaker.states.values.first == .open)
        clock.advance(by: .seconds(10))
        #expect(try await session.get("http://a.test/").status == .ok)
        #expect(breaker.states.values.first == .closed)
        probe.cancel()
        _ = await curlewError { _ = try await probe.value }
    }

    @Test("a cancelled probe makes room for another")
    func cancelledProbe() async throws {
        let clock = TestClock()
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport { request in
            switch request.index {
            case 0..<3: .failure(.connectionLost)
            case 3: .stall
            default: .response(.ok)
            }
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { breaker }
        for _ in 0..<3 { _ = await curlewError { _ = try await session.get("http://a.test/") } }
        clock.advance(by: .seconds(5))
        let probe = Task { try await session.get("http://a.test/") }
        try await stub.waitForRequests(4)
        #expect(await curlewError { _ = try await session.get("http://a.test/") }?.code == .circuitOpen)
        probe.cancel()
        _ = await probe.result
        #expect(try await session.get("http://a.test/").status == .ok)
        #expect(breaker.states.values.first == .closed)
    }

    @Test("a breaker publishes once in each living session, and keeps none alive")
    func publishers() async throws {
        let breaker = CircuitBreaker(policy)
        weak var gone: SessionActor?
        for _ in 0..<3 {
            let session = try makeSession { breaker }
            gone = session.session
            await session.shutdown()
        }
        try await eventually("the session goes") { gone == nil }
        #expect(breaker.core.publisherCount == 0)
        let server = try await MockServer.start { _ in MockResponse(status: .badGateway) }
        let session = try makeSession { breaker }
        let actor = try #require(session.session)
        // The other sessions use the same connections, such as one session per tenant.
        let others = try (0..<5).map { _ in try HTTPSession(transport: actor, chain: .bare) { breaker } }
        #expect(breaker.core.publisherCount == 1)
        var events = actor.events.makeAsyncIterator()
        for _ in 0..<3 { _ = try await session.get(.raw(server.url())).body.collect(upTo: 10) }
        await session.shutdown()
        var changes = 0
        while let event = await events.next(), event.kind != .invalidated {
            if event.kind == .circuitChanged { changes += 1 }
        }
        #expect(changes == 1)
        withExtendedLifetime(others) {}
        await server.shutdown()
    }

    @Test("failing hosts leave only the allowed number of circuits, and a circuit with a running call stays")
    func groups() async throws {
        let breaker = CircuitBreaker(CircuitBreaker.Policy(minimumCalls: 1))
        let stub = StubTransport { request in
            request.path == "/stall" ? .stall : .failure(.connectionRefused)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { breaker }
        let stalled = Task { try await session.get("http://stalled.test/stall") }
        try await stub.waitForRequests(1)
        for number in 0..<(LoadScope.groupLimit + 600) {
            _ = await curlewError { _ = try await session.get(.raw("http://h\(number).test/")) }
            #expect(breaker.states.count <= LoadScope.groupLimit)
        }
        #expect(breaker.states["http://stalled.test:80"] == .closed)
        stalled.cancel()
        _ = await stalled.result
    }

    @Test("a wait in a local queue counts neither as a failure of the server nor as slow")
    func ownWaits() async throws {
        let clock = TestClock()
        let breaker = CircuitBreaker(
            CircuitBreaker.Policy(slowAfter: .milliseconds(1500), slowRate: 0.1, minimumCalls: 1), clock: clock)
        let limiter = ConcurrencyLimiter(.fixed(1), queue: LoadQueue(shedsLateCalls: false), clock: clock)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stub = StubTransport { request in
            if request.path == "/first" { for await _ in gate {} }
            return .response(.ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            breaker
            limiter
        }
        let first = Task { try await session.get("http://b.test/first") }
        try await stub.waitForRequests(1)
        let hasty = Task {
            try await session.get("http://b.test/", options: RequestOptions(totalTimeout: .seconds(1)))
        }
        try await clock.waitForSleepers(1)
        let patient = Task { try await session.get("http://b.test/") }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        #expect(await curlewError { _ = try await hasty.value }?.code == .totalTimeout)
        #expect(breaker.states.values.first == .closed)
        first.cancel()
        open.finish()
        _ = await first.result
        clock.advance(by: .seconds(1))
        #expect(try await patient.value.status == .ok)
        #expect(breaker.states.values.first == .closed)
    }
}
