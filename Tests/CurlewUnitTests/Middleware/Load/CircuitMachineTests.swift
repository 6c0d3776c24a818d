import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The state machine of a circuit breaker")
struct CircuitMachineTests {
    private let second: Int64 = 1_000_000_000
    private let policy = CircuitBreaker.Policy(
        failureRate: 0.5, minimumCalls: 4, window: .seconds(10), firstWait: .seconds(5), longestWait: .seconds(15),
        probes: 2)

    /// Sends a call if permitted, and records its result.
    @discardableResult
    private func call(
        _ machine: inout CircuitMachine, _ result: CircuitMachine.Result, at now: Int64, duration: Int64 = 0
    ) -> CircuitMachine.Change? {
        guard let permit = machine.ask(at: now).permit else { return nil }
        return machine.take(result, permit, duration: duration, at: now)
    }

    private func opened(at now: Int64 = 0) -> CircuitMachine {
        var machine = CircuitMachine(policy)
        for _ in 0..<4 { call(&machine, .failure, at: now) }
        return machine
    }

    @Test("a circuit opens at the failure rate, but not before the minimum number of calls")
    func opening() {
        var machine = CircuitMachine(policy)
        #expect(call(&machine, .failure, at: 0) == nil)
        #expect(call(&machine, .failure, at: 0) == nil)
        #expect(call(&machine, .success, at: 0) == nil)
        let change = call(&machine, .failure, at: 0)
        #expect(change?.from == .closed && change?.to == .open && change?.wait == 5 * second)
        #expect(change?.counts == CircuitMachine.Counts(calls: 4, failures: 3, slow: 0))
        #expect(machine.ask(at: second).permit == nil && machine.wait(at: second) == 4 * second)
    }

    @Test("failures older than the window do not count")
    func window() {
        var machine = CircuitMachine(policy)
        for _ in 0..<3 { call(&machine, .failure, at: 0) }
        #expect(call(&machine, .failure, at: 11 * second) == nil)
        for step in 0..<2 { #expect(call(&machine, .failure, at: (12 + Int64(step)) * second) == nil) }
        #expect(call(&machine, .failure, at: 19 * second)?.to == .open)
    }

    @Test("a neutral result is not counted")
    func nothing() {
        var machine = CircuitMachine(policy)
        for _ in 0..<100 { #expect(call(&machine, .none, at: 0) == nil) }
        for _ in 0..<3 { call(&machine, .failure, at: 0) }
        #expect(machine.current == .closed)
    }

    @Test("after the wait a few probes are sent, and close the circuit if all succeed")
    func halfOpen() throws {
        var machine = opened()
        let (first, change) = machine.ask(at: 5 * second)
        #expect(change?.to == .halfOpen)
        let second = machine.ask(at: 5 * self.second).permit
        #expect(machine.ask(at: 5 * self.second).permit == nil)
        let one = try #require(first)
        let two = try #require(second)
        #expect(machine.take(.success, one, duration: 0, at: 6 * self.second) == nil)
        #expect(machine.take(.success, two, duration: 0, at: 6 * self.second)?.to == .closed)
        // A reopened circuit starts empty: earlier failures do not count any more.
        for _ in 0..<3 { #expect(call(&machine, .failure, at: 6 * self.second) == nil) }
    }

    @Test("a failed probe opens the circuit for twice as long, up to the longest wait")
    func reopening() {
        var machine = opened()
        #expect(call(&machine, .failure, at: 5 * second)?.wait == 10 * second)
        #expect(call(&machine, .failure, at: 15 * second)?.wait == 15 * second)
        #expect(call(&machine, .failure, at: 30 * second)?.wait == 15 * second)
    }

    @Test("a probe with a neutral result makes room for another")
    func cancelledProbe() {
        var machine = opened()
        for _ in 0..<10 { #expect(call(&machine, .none, at: 5 * second) == nil) }
        #expect(machine.current == .halfOpen)
        call(&machine, .success, at: 5 * second)
        #expect(call(&machine, .success, at: 5 * second)?.to == .closed)
    }

    @Test("probes without a head reopen the circuit after 30 seconds, and their late results are ignored")
    func silentProbes() throws {
        var machine = opened()
        let probes = [machine.ask(at: 5 * second).permit, machine.ask(at: 6 * second).permit].compactMap(\.self)
        #expect(probes.count == 2)
        let early = machine.ask(at: 36 * second - 1)
        #expect(early.permit == nil && early.change == nil)
        let change = try #require(machine.ask(at: 36 * second).change)
        #expect(change.from == .halfOpen && change.to == .open && change.wait == 10 * second)
        #expect(change.counts == CircuitMachine.Counts(calls: 1, failures: 1, slow: 0))
        #expect(machine.take(.success, probes[0], duration: 0, at: 37 * second) == nil && machine.current == .open)
        for _ in 0..<2 { call(&machine, .success, at: 46 * second) }
        #expect(machine.current == .closed)
    }

    @Test("a probe may last as long as a slow call or the first wait, if that is longer than 30 seconds")
    func patience() {
        for policy in [
            CircuitBreaker.Policy(minimumCalls: 1, firstWait: .seconds(40), probes: 1),
            CircuitBreaker.Policy(slowAfter: .seconds(40), minimumCalls: 1, probes: 1),
        ] {
            var machine = CircuitMachine(policy)
            call(&machine, .failure, at: 0)
            #expect(machine.ask(at: 50 * second).permit != nil)
            #expect(machine.ask(at: 90 * second - 1).change == nil)
            #expect(machine.ask(at: 90 * second).change?.to == .open)
        }
    }

    @Test("a call from an earlier state has no effect when it ends")
    func lateResults() throws {
        var machine = CircuitMachine(policy)
        let early = try #require(machine.ask(at: 0).permit)
        for _ in 0..<4 { call(&machine, .failure, at: 0) }
        #expect(machine.take(.success, early, duration: 0, at: second) == nil)
        let probe = try #require(machine.ask(at: 5 * second).permit)
        #expect(machine.take(.failure, early, duration: 0, at: 5 * second) == nil)
        #expect(machine.current == .halfOpen)
        #expect(machine.take(.failure, probe, duration: 0, at: 5 * second)?.to == .open)
    }

    @Test("slow calls open a circuit if the policy defines slow calls")
    func slow() {
        var machine = CircuitMachine(
            CircuitBreaker.Policy(slowAfter: .seconds(1), slowRate: 0.75, minimumCalls: 4))
        for _ in 0..<3 { #expect(call(&machine, .success, at: 0, duration: 2 * second) == nil) }
        #expect(call(&machine, .success, at: 0, duration: second / 2) == nil)
        let change = call(&machine, .success, at: 0, duration: 2 * second)
        #expect(change?.to == .open && change?.counts.slow == 4 && change?.counts.failures == 0)
    }

    @Test("a clock that is set back does not prolong an open circuit, and extreme times do not trap")
    func clockJumps() {
        var machine = opened(at: 100 * second)
        #expect(machine.ask(at: 0).permit == nil)
        #expect(machine.wait(at: 0) == 5 * second)
        #expect(machine.ask(at: 4 * second).permit == nil)
        #expect(machine.ask(at: 5 * second).permit != nil)
        var other = opened(at: .max - 10)
        #expect(other.ask(at: .max - 5).permit == nil)
        #expect(other.ask(at: .max).permit != nil)
        for moment in [Int64.min, .max, 0, .min] { call(&machine, .failure, at: moment) }
    }

    @Test("a circuit is in use during a call, and is empty once its failures are old")
    func idle() throws {
        var machine = CircuitMachine(policy)
        let permit = try #require(machine.ask(at: 0).permit)
        #expect(machine.isInUse)
        _ = machine.take(.failure, permit, duration: 0, at: 0)
        #expect(!machine.isInUse)
        #expect(machine.isIdle(at: second) == false)
        #expect(machine.isIdle(at: 11 * second) == true)
        var open = opened()
        #expect(open.isIdle(at: 19 * second) == false)
        #expect(open.isIdle(at: 20 * second) == true)
    }

    @Test("invalid policies are corrected")
    func nonsense() {
        let policy = CircuitBreaker.Policy(
            failureRate: -1, slowAfter: .zero, slowRate: 7, minimumCalls: -3, window: .seconds(-1),
            firstWait: .seconds(-1), longestWait: .seconds(Int64.max), probes: 0)
        let inBounds = policy.inBounds
        #expect(inBounds.failureRate == 0 && inBounds.slowRate == 1)
        #expect(inBounds.minimumCalls == 1 && inBounds.probes == 1 && inBounds.window == .milliseconds(1))
        // A later invalid setting is corrected too: without a probe the circuit would never close.
        var changed = CircuitBreaker.Policy(minimumCalls: 1, firstWait: .seconds(1))
        changed.probes = 0
        var probed = CircuitMachine(changed)
        call(&probed, .failure, at: 0)
        #expect(call(&probed, .success, at: second)?.to == .closed)
        var machine = CircuitMachine(policy)
        for _ in 0..<100 { call(&machine, .success, at: 0) }
        #expect(machine.current == .closed)
        #expect(call(&machine, .failure, at: 0)?.to == .open)
    }
}
