/// A clock for links: it measures elapsed time, and waits.
package struct Timekeeper: Sendable {
    /// The time since the timekeeper was made.
    package let elapsed: @Sendable () -> Duration
    /// The time since the timekeeper was made, in nanoseconds. It is faster than `elapsed` for the system's clock.
    package let nanoseconds: @Sendable () -> Int64
    private let clock: any Clock<Duration>

    package static let continuous = Timekeeper(ContinuousClock())

    package init(_ clock: any Clock<Duration>) {
        self.clock = clock
        let elapsed = Self.stopwatch(clock)
        self.elapsed = elapsed
        if clock is ContinuousClock {
            let start = Instant.now
            nanoseconds = { start.nanoseconds(to: .now) }
        } else {
            nanoseconds = { elapsed().nanosecondsClamped }
        }
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// The longest sleep, 31 years. The system's clocks trap at the ends of `Duration`.
    private static let longestSleep = Duration.seconds(1_000_000_000)

    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func sleep(for duration: Duration) async throws {
        try await clock.sleep(for: min(duration, Self.longestSleep))
    }
}
