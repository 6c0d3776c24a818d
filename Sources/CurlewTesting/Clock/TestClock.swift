#if TestKit
/// A clock that stands still until a test advances it.
///
///     let clock = TestClock()
///     … start what sleeps on the clock …
///     try await clock.waitForSleepers(1)
///     clock.advance(by: .seconds(30))
///
/// ``advance(by:)`` wakes sleepers in the order of their deadlines. The clock never advances by itself.
public final class TestClock: Clock, Sendable {
    /// A moment of a ``TestClock``, counted from its start.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public let offset: Duration

        /// The instant that is `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: self.offset + duration) }
        /// The duration from this instant to another.
        public func duration(to other: Instant) -> Duration { other.offset - self.offset }
        /// True if `left` is before `right`.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State: Sendable {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Instant] = [:]
        var nextID = 0
    }

    private let state = Watched(State())

    /// Makes a clock at zero.
    public init() {}

    /// The current instant of the clock.
    public var now: Instant { self.state.update { $0.now } }
    /// The minimum resolution: one nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }
    /// The number of tasks that sleep on the clock.
    public var sleeperCount: Int { self.state.update { $0.sleepers.count } }

    /// Sleeps until the clock reaches `deadline`; throws when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let id = self.state.update { state in
            defer { state.nextID += 1 }
            if deadline > state.now { state.sleepers[state.nextID] = deadline }
            return state.nextID
        }
        defer { self.state.update { _ = $0.sleepers.removeValue(forKey: id) } }
        try await self.state.wait { $0.now >= deadline }
    }

    /// Advances the clock and wakes the tasks whose deadlines it reaches.
    public func advance(by duration: Duration) {
        let target = self.now.advanced(by: duration)
        while true {
            let isThere = self.state.update { state in
                // The clock advances from deadline to deadline, so that sleepers wake in the order of their deadlines.
                state.now = max(state.now, min(target, state.sleepers.values.min() ?? target))
                state.sleepers = state.sleepers.filter { $0.value > state.now }
                return state.now >= target
            }
            if isThere { return }
        }
    }

    /// Returns when at least `count` tasks sleep on the clock.
    public func waitForSleepers(_ count: Int = 1) async throws {
        try await self.state.wait { $0.sleepers.count >= count }
    }

    /// Waits for a sleeper and advances the clock to the earliest deadline; returns the duration of the advance.
    @discardableResult
    public func advanceToNextSleeper() async throws -> Duration {
        try await self.waitForSleepers()
        let duration = self.state.update { state in
            state.sleepers.values.min().map { state.now.duration(to: $0) } ?? .zero
        }
        self.advance(by: duration)
        return duration
    }
}
#endif
