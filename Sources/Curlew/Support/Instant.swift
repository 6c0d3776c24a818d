internal import FoundationEssentials
internal import Glibc

/// A moment of the monotonic clock, in nanoseconds: what the loop's timers count in.
package struct Instant: Comparable, Sendable {
    package var nanoseconds: Int64

    package static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static let distantFuture = Instant(nanoseconds: .max)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    package func advanced(by nanoseconds: Int64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .distantFuture : Instant(nanoseconds: sum)
    }

    /// The moment by the clock on the wall, as that stands now. Both clocks are asked once, so that equal moments stay equal.
    var date: Date { Self.origin.addingTimeInterval(Double(nanoseconds) / 1e9) }

    private static let origin = Date().addingTimeInterval(-Double(Instant.now.nanoseconds) / 1e9)

    package func nanoseconds(to later: Instant) -> Int64 { later.nanoseconds - nanoseconds }

    func duration(to later: Instant) -> Duration { .nanoseconds(nanoseconds(to: later)) }
}

extension Duration {
    /// The largest number of whole seconds whose nanoseconds fit into 64 bits: 292 years.
    private static let longestInNanoseconds = Duration.seconds(9_223_372_036)

    /// Whole nanoseconds, clamped to what 64 bits hold.
    package var nanosecondsClamped: Int64 {
        // Before anything else: `components` traps beyond 64 bits of seconds.
        guard self < Self.longestInNanoseconds else { return .max }
        guard self > .zero - Self.longestInNanoseconds else { return .min }
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Nanoseconds as a limit; what is too long to count, ``Timeouts/unlimited`` among it, is the largest number.
    var limitInNanoseconds: Int64 { max(1, nanosecondsClamped) }

    /// True if it is no limit.
    var isUnlimited: Bool { self >= Self.longestInNanoseconds }

    /// Whole milliseconds, rounded up so that a short limit is never taken for none.
    var millisecondsRoundedUp: Int {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? 0 : Int((nanoseconds - 1) / 1_000_000 + 1)
    }

    /// Whole seconds, rounded up, as many as 32 bits hold at most.
    var secondsRoundedUp: Int {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? 0 : Int(min((nanoseconds - 1) / 1_000_000_000 + 1, Int64(Int32.max)))
    }
}
