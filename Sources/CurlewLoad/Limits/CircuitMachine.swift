/// The state of a circuit. It is a pure value: times (in nanoseconds) and results are its input, permits and changes
/// its output.
package struct CircuitMachine: Sendable {
    /// The result of a call.
    package enum Result: Sendable {
        case success
        case failure
        /// Ignored: the call was cancelled, or refused locally.
        case none
    }

    /// The permit of one call, to be returned with its result.
    package struct Permit: Sendable, Equatable {
        /// The period of the state that granted it. Results from an earlier period are ignored.
        fileprivate let period: Int
    }

    /// A change of state, with its reason.
    package struct Change: Sendable, Equatable {
        package let from: CircuitTransition.State
        package let to: CircuitTransition.State
        package let counts: Counts
        /// The duration of the open state, in nanoseconds; otherwise 0.
        package let wait: Int64
    }

    /// The number of calls, failures and slow calls.
    package struct Counts: Sendable, Equatable {
        package var calls = 0
        package var failures = 0
        package var slow = 0

        static func += (left: inout Counts, right: Counts) {
            left.calls += right.calls
            left.failures += right.failures
            left.slow += right.slow
        }
    }

    private enum State: Sendable {
        case closed
        case open(until: Int64)
        case halfOpen(Probes)
    }

    /// The probes of a half-open circuit.
    private struct Probes: Sendable {
        var granted = 0
        /// The time when the last probe was granted.
        var lastGranted: Int64 = .min
        var counts = Counts()
    }

    /// The shortest time after which a probe without a head counts as failed: 30 seconds.
    private static let leastPatience: Int64 = 30_000_000_000

    private let policy: CircuitBreaker.Policy
    private var state = State.closed
    private var window: SlidingCounts
    /// The number of times that it has opened since it was last closed.
    private var openings = 0
    private var period = 0
    private var time = SteadyTime()
    /// The number of permits that have not been returned.
    private var underWay = 0

    package init(_ policy: CircuitBreaker.Policy) {
        let policy = policy.inBounds
        self.policy = policy
        window = SlidingCounts(length: policy.window.nanosecondsClamped)
    }

    package var current: CircuitTransition.State {
        switch state {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    var isInUse: Bool { underWay > 0 }

    /// True if the group can be evicted without loss: it has no recent failure, or no request came for long after it
    /// was open.
    mutating func isIdle(at moment: Int64) -> Bool {
        let now = time.at(moment)
        switch state {
        case .closed: return window.counts(at: now).failures == 0
        case .open(let until): return now >= until.clampedAdding(policy.longestWait.nanosecondsClamped)
        case .halfOpen: return false
        }
    }

    /// The time until a call may be sent; 0 if a call may be sent now, or a running probe decides.
    package mutating func wait(at moment: Int64) -> Int64 {
        guard case .open(let until) = state else { return 0 }
        return max(0, until - time.at(moment))
    }

    /// Asks for a permit to send.
    /// - Returns: The permit, or nil if no request may be sent; and the change of state that this caused.
    package mutating func ask(at moment: Int64) -> (permit: Permit?, change: Change?) {
        let now = time.at(moment)
        var change: Change?
        if case .open(let until) = state, now >= until {
            change = become(.halfOpen(Probes()), after: Counts())
        }
        switch state {
        case .closed:
            underWay += 1
            return (Permit(period: period), change)
        case .open: return (nil, change)
        case .halfOpen(var probes):
            guard probes.granted < policy.probes else {
                guard now >= probes.lastGranted.clampedAdding(patience) else { return (nil, change) }
                // Without this limit, an unresponsive server could keep the circuit half-open forever.
                var counts = probes.counts
                counts += Counts(calls: 1, failures: 1, slow: 0)
                return (nil, open(after: counts, now))
            }
            probes.granted += 1
            probes.lastGranted = now
            state = .halfOpen(probes)
            underWay += 1
            return (Permit(period: period), change)
        }
    }

    /// Records the result of a call.
    /// - Parameter duration: The time to the head of its response.
    package mutating func take(_ result: Result, _ permit: Permit, duration: Int64, at moment: Int64) -> Change? {
        let now = time.at(moment)
        underWay -= 1
        // The call began in an earlier period.
        guard permit.period == period else { return nil }
        var counts = Counts(calls: 1, failures: result == .failure ? 1 : 0, slow: 0)
        if result == .success, let limit = policy.slowAfter?.nanosecondsClamped, duration > limit { counts.slow = 1 }
        switch state {
        case .open: return nil
        case .halfOpen(let probes): return takeProbe(result, counts, probes, now)
        case .closed:
            guard result != .none else { return nil }
            window.add(counts, at: now)
            guard counts.failures + counts.slow > 0 else { return nil }
            let total = window.counts(at: now)
            guard total.calls >= policy.minimumCalls, isTooMuch(total) else { return nil }
            return open(after: total, now)
        }
    }

    private mutating func takeProbe(_ result: Result, _ counts: Counts, _ probes: Probes, _ now: Int64) -> Change? {
        var probes = probes
        guard result != .none else {
            // A probe that ends without a verdict makes room for another probe.
            probes.granted -= 1
            state = .halfOpen(probes)
            return nil
        }
        probes.counts += counts
        if counts.failures + counts.slow > 0 { return open(after: probes.counts, now) }
        guard probes.counts.calls >= policy.probes else {
            state = .halfOpen(probes)
            return nil
        }
        openings = 0
        window.clear()
        return become(.closed, after: probes.counts)
    }

    /// The time after which a probe without a head counts as failed.
    private var patience: Int64 {
        max(Self.leastPatience, policy.firstWait.nanosecondsClamped, policy.slowAfter?.nanosecondsClamped ?? 0)
    }

    private func isTooMuch(_ counts: Counts) -> Bool {
        let calls = Double(counts.calls)
        if Double(counts.failures) >= policy.failureRate * calls, counts.failures > 0 { return true }
        // A failed call counts as slow, too.
        return policy.slowAfter != nil && Double(counts.slow + counts.failures) >= policy.slowRate * calls
    }

    private mutating func open(after counts: Counts, _ now: Int64) -> Change {
        let longest = policy.longestWait.nanosecondsClamped
        let first = min(policy.firstWait.nanosecondsClamped, longest)
        let factor = Int64(1) << Int64(min(openings, 20))
        let (product, overflow) = first.multipliedReportingOverflow(by: factor)
        let wait = max(1, overflow ? longest : min(product, longest))
        openings += 1
        return become(.open(until: now.clampedAdding(wait)), after: counts, wait: wait)
    }

    private mutating func become(_ next: State, after counts: Counts, wait: Int64 = 0) -> Change {
        let from = current
        state = next
        period += 1
        return Change(from: from, to: current, counts: counts, wait: wait)
    }
}

/// Counts over a sliding window of ten parts; the oldest part is dropped as time passes.
private struct SlidingCounts: Sendable {
    private static let partCount = 10

    private let partLength: Int64
    private var parts = [CircuitMachine.Counts](repeating: CircuitMachine.Counts(), count: partCount)
    private(set) var total = CircuitMachine.Counts()
    /// The number of the latest part.
    private var newest: Int64 = .min

    init(length: Int64) { partLength = max(1, length / Int64(Self.partCount)) }

    mutating func counts(at now: Int64) -> CircuitMachine.Counts {
        turn(to: now)
        return total
    }

    mutating func add(_ counts: CircuitMachine.Counts, at now: Int64) {
        turn(to: now)
        parts[Self.index(newest)] += counts
        total += counts
    }

    mutating func clear() {
        for index in parts.indices { parts[index] = CircuitMachine.Counts() }
        total = CircuitMachine.Counts()
    }

    private static func index(_ part: Int64) -> Int {
        let count = Int64(partCount)
        return Int((part % count + count) % count)
    }

    private mutating func turn(to now: Int64) {
        let part = now / partLength
        guard part > newest else { return }
        // After a jump of the clock all parts are outdated.
        let steps = newest == .min || part - newest >= Int64(Self.partCount) ? Int64(Self.partCount) : part - newest
        newest = part
        for step in 0..<steps { parts[Self.index(part - step)] = CircuitMachine.Counts() }
        total = CircuitMachine.Counts()
        for part in parts { total += part }
    }
}
