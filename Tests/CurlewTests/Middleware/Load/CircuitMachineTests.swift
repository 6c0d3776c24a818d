import Testing

@testable import Curlew

@Suite("The machine of a circuit breaker")
struct CircuitMachineTests {
    private let second: Int64 = 1_000_000_000
    private let policy = CircuitBreaker.Policy(
        failureRate: 0.5, minimumCalls: 4, window: .seconds(10), firstWait: .seconds(5), longestWait: .seconds(15),
        probes: 2)

    /// Sends a call, if it may, and takes what came of it.
    @discardableResult
    private func call(
        _ machine: inout CircuitMachine, _ result: CircuitMachine.Result, at now: Int64, duration: Int64 = 0
    ) -> CircuitMachine.Change? {
        guard let leave = machine.ask(at: now).leave else { return nil }
        return machine.take(result, leave, duration: duration, at: now)
    }

    private func opened(at now: Int64 = 0) -> CircuitMachine {
        var machine = CircuitMachine(policy)
        for _ in 0..<4 { call(&machine, .failure, at: now) }
        return machine
    }

    @Test("a circuit opens when the rate of failures is reached, and not before the least number of calls")
    func opening() {
        var machine = CircuitMachine(policy)
        #expect(call(&machine, .failure, at: 0) == nil)
        #expect(call(&machine, .failure, at: 0) == nil)
        #expect(call(&machine, .success, at: 0) == nil)
        let change = call(&machine, .failure, at: 0)
        #expect(change?.from == .closed && change?.to == .open && change?.wait == 5 * second)
        #expect(change?.counts == CircuitMachine.Counts(calls: 4, failures: 3, slow: 0))
        #expect(machine.ask(at: second).leave == nil && machine.wait(at: second) == 4 * second)
    }

    @Test("failures that are older than the window do not count")
    func window() {
        var machine = CircuitMachine(policy)
        for _ in 0..<3 { call(&machine, .failure, at: 0) }
        #expect(call(&machine, .failure, at: 11 * second) == nil)
        for step in 0..<2 { #expect(call(&machine, .failure, at: (12 + Int64(step)) * second) == nil) }
        #expect(call(&machine, .failure, at: 19 * second)?.to == .open)
    }

    @Test("what says nothing counts neither way")
    func nothing() {
        var machine = CircuitMachine(policy)
        for _ in 0..<100 { #expect(call(&machine, .none, at: 0) == nil) }
        for _ in 0..<3 { call(&machine, .failure, at: 0) }
        #expect(machine.current == .closed)
    }

    @Test("after the wait a few probes go, and close the circuit if all are well")
    func halfOpen() throws {
        var machine = opened()
        let (first, change) = machine.ask(at: 5 * second)
        #expect(change?.to == .halfOpen)
        let second = machine.ask(at: 5 * self.second).leave
        #expect(machine.ask(at: 5 * self.second).leave == nil)
        let one = try #require(first)
        let two = try #require(second)
        #expect(machine.take(.success, one, duration: 0, at: 6 * self.second) == nil)
        #expect(machine.take(.success, two, duration: 0, at: 6 * self.second)?.to == .closed)
        // It begins anew: what opened it does not count any more.
        for _ in 0..<3 { #expect(call(&machine, .failure, at: 6 * self.second) == nil) }
    }

    @Test("a probe that fails opens the circuit for twice as long, up to the longest wait")
    func reopening() {
        var machine = opened()
        #expect(call(&machine, .failure, at: 5 * second)?.wait == 10 * second)
        #expect(call(&machine, .failure, at: 15 * second)?.wait == 15 * second)
        #expect(call(&machine, .failure, at: 30 * second)?.wait == 15 * second)
    }

    @Test("a probe that says nothing leaves its place to another")
    func cancelledProbe() {
        var machine = opened()
        for _ in 0..<10 { #expect(call(&machine, .none, at: 5 * second) == nil) }
        #expect(machine.current == .halfOpen)
        call(&machine, .success, at: 5 * second)
        #expect(call(&machine, .success, at: 5 * second)?.to == .closed)
    }

    @Test("a call of an earlier state changes nothing when it comes back")
    func lateResults() throws {
        var machine = CircuitMachine(policy)
        let early = try #require(machine.ask(at: 0).leave)
        for _ in 0..<4 { call(&machine, .failure, at: 0) }
        #expect(machine.take(.success, early, duration: 0, at: second) == nil)
        let probe = try #require(machine.ask(at: 5 * second).leave)
        #expect(machine.take(.failure, early, duration: 0, at: 5 * second) == nil)
        #expect(machine.current == .halfOpen)
        #expect(machine.take(.failure, probe, duration: 0, at: 5 * second)?.to == .open)
    }

    @Test("slow calls open a circuit where they are known")
    func slow() {
        var machine = CircuitMachine(
            CircuitBreaker.Policy(slowAfter: .seconds(1), slowRate: 0.75, minimumCalls: 4))
        for _ in 0..<3 { #expect(call(&machine, .success, at: 0, duration: 2 * second) == nil) }
        #expect(call(&machine, .success, at: 0, duration: second / 2) == nil)
        let change = call(&machine, .success, at: 0, duration: 2 * second)
        #expect(change?.to == .open && change?.counts.slow == 4 && change?.counts.failures == 0)
    }

    @Test("a clock that jumps, back and far ahead, neither traps nor opens nor keeps open")
    func clockJumps() {
        var machine = opened(at: 100 * second)
        // Back: the time since the opening does not run.
        #expect(machine.ask(at: 0).leave == nil && machine.wait(at: 0) == 5 * second)
        // Ahead, to the end of time.
        call(&machine, .success, at: .max - 10)
        #expect(call(&machine, .success, at: .max)?.to == .closed)
        for _ in 0..<3 { call(&machine, .failure, at: .min) }
        #expect(call(&machine, .failure, at: 0)?.to == .open)
    }

    @Test("policies without sense become ones with sense")
    func nonsense() {
        let policy = CircuitBreaker.Policy(
            failureRate: -1, slowAfter: .zero, slowRate: 7, minimumCalls: -3, window: .seconds(-1),
            firstWait: .seconds(-1), longestWait: .seconds(Int64.max), probes: 0)
        #expect(policy.failureRate == 0 && policy.slowRate == 1 && policy.minimumCalls == 1 && policy.probes == 1)
        var machine = CircuitMachine(policy)
        for _ in 0..<100 { call(&machine, .success, at: 0) }
        #expect(machine.current == .closed)
        #expect(call(&machine, .failure, at: 0)?.to == .open)
    }
}
