internal import CurlewPlatform
internal import FoundationEssentials

/// A time of the monotonic clock in nanoseconds, the unit of the event loop's timers.
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

    /// The time of the wall clock. Both clocks are read once, so that equal instants have equal dates.
    var date: Date { Self.origin.addingTimeInterval(Double(nanoseconds) / 1e9) }

    private static let origin = Date().addingTimeInterval(-Double(Instant.now.nanoseconds) / 1e9)

    package func nanoseconds(to later: Instant) -> Int64 { later.nanoseconds - nanoseconds }

    package func duration(to later: Instant) -> Duration { .nanoseconds(nanoseconds(to: later)) }
}

extension Duration {
    /// The largest number of whole seconds whose nanoseconds fit into 64 bits: 292 years.
    private static let longestInNanoseconds = Duration.seconds(9_223_372_036)

    /// The number of full nanoseconds, limited to 64 bits.
    package var nanosecondsClamped: Int64 {
        // The check comes first, as `components` traps beyond 64 bits of seconds.
        guard self < Self.longestInNanoseconds else { return .max }
        guard self > .zero - Self.longestInNanoseconds else { return .min }
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// The nanoseconds of a limit. A duration beyond 64 bits, such as ``Timeouts/unlimited``, becomes the largest
    /// number.
    var limitInNanoseconds: Int64 { max(1, nanosecondsClamped) }

    /// True if the duration is not a limit.
    package var isUnlimited: Bool { self >= Self.longestInNanoseconds }

    /// The number of milliseconds, rounded up so that a short limit does not become zero.
    var millisecondsRoundedUp: Int {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? 0 : Int((nanoseconds - 1) / 1_000_000 + 1)
    }

    /// The number of seconds, rounded up and limited to 32 bits.
    var secondsRoundedUp: Int {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? 0 : Int(min((nanoseconds - 1) / 1_000_000_000 + 1, Int64(Int32.max)))
    }
}
