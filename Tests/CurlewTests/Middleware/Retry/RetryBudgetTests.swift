import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The budget of retries", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RetryBudgetTests {
    private func uri(_ host: String) throws -> CurlewURI { try CurlewURI("http://\(host)/") }

    @Test("each call adds a fifth of a token, and each retry takes one")
    func tokens() throws {
        let budget = Retry.Budget(reserve: 2, clock: TestClock())
        let uri = try uri("a.test")
        #expect(budget.withdraw(for: uri) && budget.withdraw(for: uri))
        #expect(!budget.withdraw(for: uri))
        for _ in 0..<4 { budget.deposit(for: uri) }
        #expect(!budget.withdraw(for: uri))
        budget.deposit(for: uri)
        #expect(budget.withdraw(for: uri))
        #expect(!budget.withdraw(for: uri))
    }

    @Test("the load on a failing server grows by at most a fifth plus the reserve")
    func load() async throws {
        let stub = StubTransport { _ in .response(.serviceUnavailable) }
        var link = Retry(attempts: 3, budget: Retry.Budget(clock: TestClock()))
        link.policy.backoff = Retry.Backoff(base: .zero)
        let session = try HTTPSession(transport: stub, chain: .bare) { [link] in link }
        for _ in 0..<200 { _ = try await session.get("http://a.test/") }
        let repetitions = 200 / 5 + 10
        #expect(stub.received.count == 200 + repetitions)
    }

    @Test("each host and port has its own bucket")
    func hosts() throws {
        let budget = Retry.Budget(reserve: 1, clock: TestClock())
        for host in ["a.test", "b.test", "a.test:8080"] {
            #expect(try budget.withdraw(for: uri(host)))
            #expect(try !budget.withdraw(for: uri(host)))
        }
    }

    @Test("the reserve refills with time, up to its limit")
    func refill() throws {
        let clock = TestClock()
        let budget = Retry.Budget(extraLoad: 0, reserve: 10, clock: clock)
        let uri = try uri("a.test")
        for _ in 0..<10 { #expect(budget.withdraw(for: uri)) }
        clock.advance(by: .seconds(3))
        for _ in 0..<3 { #expect(budget.withdraw(for: uri)) }
        #expect(!budget.withdraw(for: uri))
        clock.advance(by: .seconds(3600))
        for _ in 0..<10 { #expect(budget.withdraw(for: uri)) }
        #expect(!budget.withdraw(for: uri))
    }

    @Test("the number of saved tokens is limited")
    func capacity() throws {
        let budget = Retry.Budget(reserve: 0, capacity: 5, clock: TestClock())
        let uri = try uri("a.test")
        for _ in 0..<1000 { budget.deposit(for: uri) }
        #expect((0..<10).filter { _ in budget.withdraw(for: uri) }.count == 5)
    }

    @Test("the most recently used hosts are remembered, up to a limit")
    func manyHosts() throws {
        let clock = TestClock()
        let budget = Retry.Budget(extraLoad: 0, reserve: 1, hosts: 100, clock: clock)
        for number in 0..<5000 {
            #expect(try budget.withdraw(for: uri("h\(number).test")))
            #expect(budget.hostCount <= 100)
            clock.advance(by: .nanoseconds(1))
        }
        #expect(try !budget.withdraw(for: uri("h4999.test")))
    }

    @Test("turns of several hosts take each from its own tokens, also after others were forgotten")
    func takingTurns() throws {
        let budget = Retry.Budget(extraLoad: 0, reserve: 2, hosts: 2, clock: TestClock())
        let (first, second, third) = try (uri("a.test"), uri("b.test"), uri("c.test"))
        #expect(budget.withdraw(for: first))
        #expect(budget.withdraw(for: second))
        #expect(budget.withdraw(for: first))
        #expect(!budget.withdraw(for: first))
        #expect(budget.withdraw(for: second))
        // The third host makes the budget forget the first.
        #expect(budget.withdraw(for: third))
        #expect(!budget.withdraw(for: second))
        #expect(budget.withdraw(for: third))
        #expect(!budget.withdraw(for: third))
        #expect(budget.withdraw(for: first))
    }

    @Test("a used-up budget of a host makes the failure final, and copies of a link share the budget")
    func exhaustion() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .badGateway) }
        let other = try await MockServer.start { _ in MockResponse(status: .badGateway) }
        var link = Retry(attempts: 2, budget: Retry.Budget(extraLoad: 0, reserve: 1, clock: TestClock()))
        link.policy.backoff = Retry.Backoff(base: .zero)
        let first = try makeSession { [link] in link }
        let second = try makeSession { [link] in link }
        #expect(try await first.get(.raw(server.url())).attempts == 2)
        #expect(try await second.get(.raw(server.url())).attempts == 1)
        #expect(try await second.get(.raw(other.url())).attempts == 2)
        #expect(server.requestCount == 3 && other.requestCount == 2)
        let refused = try RefusedPort.unused()
        _ = await curlewError { _ = try await first.get(.raw(refused.url())) }
        let error = await curlewError { _ = try await first.get(.raw(refused.url())) }
        #expect(error?.code == .connectionRefused && error?.attempts == 1)
    }
}
