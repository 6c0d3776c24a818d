import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Decisions of the caller on retries", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RetryDecisionTests {
    private func session(
        _ stub: StubTransport, attempts: Int = 3,
        _ decide: @escaping @Sendable (Retry.FailedAttempt) async -> Retry.Decision
    ) throws -> HTTPSession {
        var link = quickRetry(attempts)
        link.decide = decide
        return try HTTPSession(transport: stub, chain: .bare) { link }
    }

    @Test("a decision receives each failed attempt, and no successful one")
    func sees() async throws {
        let stub = StubTransport()
        stub.enqueue(
            .response(.serviceUnavailable, fields: [.retryAfter: "0"]), .failure(.connectionLost, stage: .exchanging),
            .response(.notFound))
        let (seen, report) = AsyncStream.makeStream(of: Retry.FailedAttempt.self)
        let session = try session(stub, attempts: 5) { attempt in
            report.yield(attempt)
            return .asProposed
        }
        #expect(try await session.get("http://a.test/").status == .notFound)
        stub.enqueue(.response(.ok))
        _ = try await session.get("http://a.test/")
        report.finish()
        var attempts: [Retry.FailedAttempt] = []
        for await attempt in seen { attempts.append(attempt) }
        #expect(attempts.map(\.number) == [1, 2, 3])
        #expect(attempts.map { $0.response?.status.code } == [503, nil, 404])
        #expect(attempts.map { $0.error?.code } == [nil, .connectionLost, nil])
        #expect(attempts.map(\.retryAfter) == [.zero, nil, nil])
        #expect(attempts.map { $0.proposedWait != nil } == [true, true, false])
        #expect(attempts.allSatisfy { $0.request.uri.host == "a.test" })
    }

    @Test("a decision may prevent a retry that the rules allow, and retry other failures")
    func decides() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.serviceUnavailable))
        #expect(try await session(stub) { _ in .stop }.get("http://a.test/").attempts == 1)
        stub.enqueue(.response(.conflict), .response(.ok))
        let response = try await session(stub) { _ in .again }.post("http://a.test/", .body(.string("x")))
        #expect(response.status == .ok && response.attempts == 2)
        stub.enqueue(.failure(.invalidResponse), .response(.ok))
        #expect(try await session(stub) { _ in .again(after: .zero) }.get("http://a.test/").attempts == 2)
        try stub.verify()
    }

    @Test("a decision cannot exceed the limits of attempts, single-use bodies and budget")
    func bounds() async throws {
        let stub = StubTransport { _ in .response(.badRequest) }
        #expect(try await session(stub, attempts: 4) { _ in .again }.get("http://a.test/").attempts == 4)
        let once = try await session(stub) { _ in .again }.put("http://a.test/", .body(oneShot("x")))
        #expect(once.attempts == 1)
        var link = quickRetry(3, budget: Retry.Budget(extraLoad: 0, reserve: 0))
        link.decide = { _ in .again }
        let poor = try HTTPSession(transport: stub, chain: .bare) { link }
        #expect(try await poor.get("http://a.test/").attempts == 1)
    }
}
