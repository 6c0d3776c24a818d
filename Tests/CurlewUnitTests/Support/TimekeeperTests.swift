import Testing

@testable import CurlewCore

@Suite("Waits by a clock")
struct TimekeeperTests {
    /// A clock that records the requested sleeps, and returns at once.
    private struct NotingClock: Clock {
        let asked = Guarded<[Duration]>([])

        var now: ContinuousClock.Instant { ContinuousClock().now }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
            asked.withLock { $0.append(now.duration(to: deadline)) }
        }
    }

    @Test("an endless wait is within the range of the system's clocks", arguments: [Int64.max, 1 << 40])
    func forEver(seconds: Int64) async throws {
        let clock = NotingClock()
        try await Timekeeper(clock).sleep(for: .seconds(seconds))
        try await Timekeeper(clock).sleep(for: .seconds(2))
        let asked = clock.asked.withLock { $0 }
        #expect(asked.count == 2 && asked[0] > .seconds(900_000_000) && asked[0] <= .seconds(1_000_000_000))
        #expect(asked[1] <= .seconds(2))
    }
}
