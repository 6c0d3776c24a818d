import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Network changes during the wait before a retry", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct WakingRetryTests {
    private let wired = ReachabilityStatus.reachable(ReachabilityStatus.Path(interface: "eth0", kind: .wired))
    private let wireless = ReachabilityStatus.reachable(ReachabilityStatus.Path(interface: "wlan0", kind: .wifi))

    private func session(
        _ stub: StubTransport, _ clock: TestClock, _ updates: AsyncStream<ReachabilityStatus>,
        _ adjust: (inout Retry) -> Void = { _ in }
    ) throws -> HTTPSession {
        var link = Retry(attempts: 2, budget: nil, clock: clock).waking(on: updates)
        link.policy.backoff = Retry.Backoff(base: .seconds(8), random: { 1 })
        adjust(&link)
        return try HTTPSession(transport: stub, chain: .bare) { [link] in link }
    }

    @Test("a network that returns, or changes to another, starts the next attempt at once")
    func wakes() async throws {
        for (before, after) in [(ReachabilityStatus.notReachable, wired), (wired, wireless)] {
            let clock = TestClock()
            let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
            let stub = StubTransport { request in request.index == 0 ? .failure(.connectionFailed) : .response(.ok) }
            let session = try session(stub, clock, updates)
            let call = Task { try await session.get("http://a.test/") }
            try await clock.waitForSleepers()
            tell.yield(before)
            tell.yield(after)
            #expect(try await call.value.attempts == 2)
            #expect(clock.now.offset == .zero && clock.sleeperCount == 0)
        }
    }

    @Test("a network that is unchanged, or disappears, does not shorten the wait before a retry")
    func sleeps() async throws {
        let clock = TestClock()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let stub = StubTransport { request in request.index == 0 ? .failure(.connectionFailed) : .response(.ok) }
        let session = try session(stub, clock, updates)
        let call = Task { try await session.get("http://a.test/") }
        tell.yield(wired)
        tell.yield(.notReachable)
        tell.yield(.unknown)
        #expect(try await clock.advanceToNextSleeper() == .seconds(8))
        #expect(try await call.value.attempts == 2)
    }

    @Test("a network change does not shorten the wait after a response, with or without Retry-After")
    func answers() async throws {
        let clock = TestClock()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let stub = StubTransport { request in
            request.index == 0 ? .response(.serviceUnavailable, fields: [.retryAfter: "5"]) : .response(.ok)
        }
        let session = try session(stub, clock, updates)
        tell.yield(.notReachable)
        tell.yield(wired)
        let call = Task { try await session.get("http://a.test/") }
        #expect(try await clock.advanceToNextSleeper() == .seconds(13))
        #expect(try await call.value.attempts == 2)
    }

    @Test("a wait that the caller has set is not shortened")
    func decided() async throws {
        let clock = TestClock()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let stub = StubTransport { request in request.index == 0 ? .failure(.connectionFailed) : .response(.ok) }
        let session = try session(stub, clock, updates) { $0.decide = { _ in .again(after: .seconds(3)) } }
        tell.yield(.notReachable)
        tell.yield(wired)
        let call = Task { try await session.get("http://a.test/") }
        #expect(try await clock.advanceToNextSleeper() == .seconds(3))
        #expect(try await call.value.attempts == 2)
    }

    @Test("a wait ends at its own time if the network updates end")
    func ended() async throws {
        let clock = TestClock()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        tell.finish()
        let stub = StubTransport { request in request.index == 0 ? .failure(.connectionFailed) : .response(.ok) }
        let session = try session(stub, clock, updates)
        let call = Task { try await session.get("http://a.test/") }
        #expect(try await clock.advanceToNextSleeper() == .seconds(8))
        #expect(try await call.value.attempts == 2)
    }

    @Test("cancelling the caller ends the wait")
    func cancellation() async throws {
        let clock = TestClock()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let stub = StubTransport { _ in .failure(.connectionFailed) }
        let session = try session(stub, clock, updates)
        let call = Task { try await session.get("http://a.test/") }
        try await clock.waitForSleepers()
        tell.yield(wired)
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        #expect(stub.received.count == 1)
    }
}
