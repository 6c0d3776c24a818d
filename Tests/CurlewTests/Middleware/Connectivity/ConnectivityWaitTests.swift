import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Waiting for the network after a failed connection", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct ConnectivityWaitTests {
    private let network = ReachabilityStatus.Path(interface: "eth0", kind: .wired)

    private struct Recording: CurlewMiddleware {
        let totals: Guarded<[Duration?]>

        func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            totals.withLock { $0.append(request.options.totalTimeout) }
            return try await next(request)
        }
    }

    /// A session over a stub that fails a given number of times, and a source of network updates.
    private struct Stage {
        let stub: StubTransport
        let clock = TestClock()
        let updates: AsyncStream<ReachabilityStatus>
        let tell: AsyncStream<ReachabilityStatus>.Continuation
        let waits: AsyncStream<ErrorCode>
        let session: HTTPSession
        /// The total timeouts of the attempts.
        let totals = Guarded<[Duration?]>([])

        init(_ failures: StubAnswer..., limit: Duration = .seconds(60)) throws {
            stub = StubTransport { _ in .response(.ok) }
            for failure in failures { stub.enqueue(failure) }
            (updates, tell) = AsyncStream.makeStream()
            let (waits, waiting) = AsyncStream.makeStream(of: ErrorCode.self)
            self.waits = waits
            var link = ConnectivityWait(updates: updates, limit: limit, clock: clock)
            link.onWait = { waiting.yield($1.code) }
            session = try HTTPSession(transport: stub, chain: .bare) { [link, totals] in
                link
                Recording(totals: totals)
            }
        }

        /// Returns once a request waits.
        /// - Returns: The error code that the wait reports.
        func waitForWait() async throws -> ErrorCode? {
            let code = await waits.first { _ in true }
            try await clock.waitForSleepers()
            return code
        }

        func get(_ options: RequestOptions = RequestOptions()) -> Task<CurlewResponse, any Error> {
            Task { try await session.get("http://a.test/", options: options) }
        }
    }

    @Test(
        "a request that failed without a network is sent again once there is one, whatever its method",
        arguments: [ErrorCode.hostNotFound, .connectionFailed, .connectTimeout, .proxyNotFound, .proxyFailed])
    func sentAgain(code: ErrorCode) async throws {
        let stage = try Stage(.failure(code))
        stage.tell.yield(.notReachable)
        let call = Task { try await stage.session.post("http://a.test/", .body(.string("curlew"))) }
        #expect(try await stage.waitForWait() == code)
        #expect(stage.stub.received.count == 1)
        stage.tell.yield(.reachable(network))
        #expect(try await call.value.status == .ok)
        #expect(stage.stub.received.count == 2)
    }

    @Test("a request is sent without a check of the network: its status matters only after a failure")
    func neverAGate() async throws {
        let stage = try Stage()
        stage.tell.yield(.notReachable)
        #expect(try await stage.get().value.status == .ok)
    }

    @Test("a request that failed although the network is there, or its state is unknown, fails at once")
    func explainedOtherwise() async throws {
        for status in [ReachabilityStatus.reachable(network), .unknown] {
            let stage = try Stage(.failure(.connectionFailed))
            stage.tell.yield(status)
            #expect(await curlewError { _ = try await stage.get().value }?.code == .connectionFailed)
            #expect(stage.stub.received.count == 1)
        }
    }

    @Test("a request that fails again without a network waits for the rest of its limit")
    func twice() async throws {
        let stage = try Stage(.failure(.hostNotFound), .failure(.connectionFailed))
        stage.tell.yield(.notReachable)
        let call = stage.get()
        #expect(try await stage.waitForWait() == .hostNotFound)
        stage.clock.advance(by: .seconds(40))
        stage.tell.yield(.unknown)
        stage.tell.yield(.notReachable)
        #expect(try await stage.waitForWait() == .connectionFailed)
        #expect(try await stage.clock.advanceToNextSleeper() == .seconds(20))
        #expect(await curlewError { _ = try await call.value }?.code == .connectionFailed)
        #expect(stage.stub.received.count == 2)
    }

    @Test("a wait for the network that reaches its limit throws the first error")
    func limit() async throws {
        let stage = try Stage(.failure(.hostNotFound), limit: .seconds(5))
        stage.tell.yield(.notReachable)
        let call = stage.get()
        _ = try await stage.waitForWait()
        #expect(try await stage.clock.advanceToNextSleeper() == .seconds(5))
        #expect(await curlewError { _ = try await call.value }?.code == .hostNotFound)
    }

    @Test("the caller's total timeout precedes the limit, and the next attempt has the remaining time")
    func totalTime() async throws {
        let stage = try Stage(.failure(.hostNotFound), .failure(.connectionFailed))
        var options = RequestOptions()
        options.totalTimeout = .seconds(10)
        stage.tell.yield(.notReachable)
        let call = stage.get(options)
        _ = try await stage.waitForWait()
        stage.clock.advance(by: .seconds(4))
        stage.tell.yield(.unknown)
        stage.tell.yield(.notReachable)
        _ = try await stage.waitForWait()
        #expect(stage.totals.withLock { $0 } == [.seconds(10), .seconds(6)])
        #expect(try await stage.clock.advanceToNextSleeper() == .seconds(6))
        #expect(await curlewError { _ = try await call.value }?.code == .connectionFailed)
    }

    @Test("a request may set its own wait limit, and zero disables the wait")
    func options() async throws {
        let stage = try Stage(.failure(.hostNotFound), .failure(.hostNotFound), limit: .zero)
        stage.tell.yield(.notReachable)
        #expect(await curlewError { _ = try await stage.get().value }?.code == .hostNotFound)
        var options = RequestOptions()
        options.connectivityTimeout = .seconds(3)
        let call = stage.get(options)
        _ = try await stage.waitForWait()
        stage.tell.yield(.reachable(network))
        #expect(try await call.value.status == .ok)
    }

    @Test("a request that had a connection, was refused, or has a used single-use body does not wait")
    func notWaitedFor() async throws {
        let answers: [StubAnswer] = [
            .failure(.connectionLost, stage: .exchanging), .failure(.connectionRefused),
            .failure(.untrustedCertificate),
            .failure(.idleTimeout, stage: .receiving), .failure(.connectTimeout, stage: .exchanging),
        ]
        for answer in answers {
            let stage = try Stage(answer)
            stage.tell.yield(.notReachable)
            _ = await curlewError { _ = try await stage.get().value }
            #expect(stage.stub.received.count == 1)
        }
        let stage = try Stage(.failure(.hostNotFound))
        stage.tell.yield(.notReachable)
        _ = await curlewError { _ = try await stage.session.put("http://a.test/", .body(oneShot("x"))) }
        #expect(stage.stub.received.count == 1)
    }

    @Test("cancelling the caller ends the wait")
    func cancellation() async throws {
        let stage = try Stage(.failure(.hostNotFound))
        stage.tell.yield(.notReachable)
        let call = stage.get()
        _ = try await stage.waitForWait()
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        #expect(stage.clock.sleeperCount == 0)
    }

    @Test("the end of the updates ends the wait with the first error")
    func ended() async throws {
        let stage = try Stage(.failure(.hostNotFound))
        stage.tell.yield(.notReachable)
        stage.tell.finish()
        #expect(await curlewError { _ = try await stage.get().value }?.code == .hostNotFound)
    }

    @Test("inner links do not wait for the network a second time")
    func noSecondWait() async throws {
        let limits = Guarded<[Duration?]>([])
        let link = ConnectivityWait(updates: AsyncStream { $0.finish() }, limit: .seconds(60))
        let request = try CurlewRequest(.get, CurlewURI("http://a.test/"))
        _ = try await link.intercept(request) { request in
            limits.withLock { $0.append(request.options.connectivityTimeout) }
            return CurlewResponse(.ok, uri: request.uri)
        }
        #expect(limits.withLock { $0 } == [.zero])
    }
}
