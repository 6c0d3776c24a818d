import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Hedged requests", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct HedgingTests {
    private func link(_ clock: TestClock, maximum: Int = 2, budget: Retry.Budget? = nil) -> Hedging {
        Hedging(after: .seconds(1), maximum: maximum, budget: budget, clock: clock)
    }

    @Test("the second response wins if the first is late, and the first attempt is cancelled")
    func secondWins() async throws {
        let server = try await MockServer.start { request in
            if request.connectionIndex == 0 { try await untilCancelled() }
            return MockResponse(body: "second")
        }
        let clock = TestClock()
        let session = try makeSession { link(clock) }
        let call = Task {
            let response = try await session.get(.raw(server.url()))
            return (response.attempts, try await response.body.collect(upTo: 10))
        }
        try await server.waitForRequests(1)
        try await clock.advanceToNextSleeper()
        let (attempts, body) = try await call.value
        #expect(attempts == 2 && body == Array("second".utf8))
        try await server.waitForConnections(open: 1)
        #expect(server.requestCount == 2)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("a fast response is requested once, and its body can be read afterwards")
    func quick() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 1 << 20)) }
        let session = try makeSession { link(TestClock()) }
        let response = try await session.get(.raw(server.url()))
        #expect(response.attempts == 1)
        #expect(try await response.body.collect(upTo: .mebibytes(2)).count == 1 << 20)
        #expect(server.requestCount == 1)
    }

    @Test("a link starts the allowed number of hedges, each after its delay")
    func maximum() async throws {
        let clock = TestClock()
        let stub = StubTransport { request in request.index == 3 ? .response(.ok) : .stall }
        let session = try HTTPSession(transport: stub, chain: .bare) { link(clock, maximum: 4) }
        let call = Task { try await session.get("http://a.test/") }
        for count in 1...3 {
            try await stub.waitForRequests(count)
            #expect(try await clock.advanceToNextSleeper() == .seconds(1))
        }
        #expect(try await call.value.attempts == 4)
        #expect(clock.sleeperCount == 0)
    }

    @Test("an error does not win while another attempt runs")
    func errors() async throws {
        let clock = TestClock()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stub = StubTransport { request in
            if request.index == 1 { return .failure(.connectionLost) }
            for await _ in gate {}
            return .response(.ok)
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { link(clock) }
        let call = Task { try await session.get("http://a.test/") }
        try await clock.advanceToNextSleeper()
        try await stub.waitForRequests(2)
        open.finish()
        let response = try await call.value
        #expect(response.status == .ok && response.attempts == 2)
    }

    @Test("a failure before the delay is thrown, and so is the last one when all attempts fail")
    func allFail() async throws {
        let clock = TestClock()
        let stub = StubTransport { _ in .failure(.connectionRefused) }
        let session = try HTTPSession(transport: stub, chain: .bare) { link(clock) }
        let error = await curlewError { _ = try await session.get("http://a.test/") }
        #expect(error?.code == .connectionRefused && error?.attempts == 1)
        #expect(stub.received.count == 1)
    }

    @Test("a POST or a single-use body is not hedged")
    func notTwice() async throws {
        let clock = TestClock()
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { link(clock) }
        _ = try await session.post("http://a.test/", .body(.string("x")))
        _ = try await session.put("http://a.test/", .body(oneShot("x")))
        #expect(stub.received.count == 2)
    }

    @Test("a QUERY is hedged with its content, as it is safe (RFC 10008 §2)")
    func query() async throws {
        let server = try await MockServer.start { request in
            let content = try await request.body.collect()
            if request.connectionIndex == 0 { try await untilCancelled() }
            return MockResponse(body: .bytes(content))
        }
        let clock = TestClock()
        let session = try makeSession { link(clock) }
        let call = Task {
            let response = try await session.query(.raw(server.url()), .body(.string("SELECT 1")))
            return (response.attempts, try await response.body.collect(upTo: 10))
        }
        try await server.waitForRequests(1)
        try await clock.advanceToNextSleeper()
        let (attempts, body) = try await call.value
        #expect(attempts == 2 && body == Array("SELECT 1".utf8))
    }

    /// The action of a server instead of an answer.
    enum Fault: CaseIterable { case close, halfHead, reset }

    @Test(
        "a hedge wins while the other attempt fails, and every response belongs to its request",
        arguments: Fault.allCases)
    func faults(_ fault: Fault) async throws {
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                guard connection.index % 2 == 0 else {
                    let path = head.split(separator: " ")[1]
                    try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
                    continue
                }
                switch fault {
                case .close: return
                case .halfHead: return try await connection.write("HTTP/1.1 200 OK\r\nContent-")
                case .reset: return await connection.reset()
                }
            }
        }
        let session = try makeSession { Hedging(after: .zero, maximum: 3, budget: nil) }
        for number in 0..<20 {
            let path = "/\(number)"
            do {
                #expect(try await session.fetch(server.url(path)) == Array(path.utf8))
            } catch let error as CurlewError {
                #expect([.connectionLost, .responseTruncated].contains(error.code), "\(error)")
            }
        }
    }

    @Test("no hedge is started without a token in the budget")
    func budget() async throws {
        let clock = TestClock()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let stub = StubTransport { _ in
            for await _ in gate {}
            return .response(.ok)
        }
        let budget = Retry.Budget(extraLoad: 0, reserve: 0, clock: clock)
        let session = try HTTPSession(transport: stub, chain: .bare) { link(clock, maximum: 3, budget: budget) }
        let call = Task { try await session.get("http://a.test/") }
        try await clock.advanceToNextSleeper()
        open.finish()
        #expect(try await call.value.attempts == 1)
        #expect(stub.received.count == 1)
    }

    @Test("cancelling the call cancels every attempt")
    func cancellation() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in
            try await untilCancelled()
            return MockResponse()
        }
        let session = try makeSession { link(clock) }
        let call = Task { try await session.get(.raw(server.url())) }
        try await clock.advanceToNextSleeper()
        try await server.waitForRequests(2)
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        try await server.waitForConnections(open: 0)
    }
}
