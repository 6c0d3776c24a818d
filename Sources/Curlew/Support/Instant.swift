internal import FoundationEssentials
internal import Glibc

/// A moment of the monotonic clock, in nanoseconds: what the loop's timers count in.
struct Instant: Comparable, Sendable {
    var nanoseconds: Int64

    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static let distantFuture = Instant(nanoseconds: .max)

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    func advanced(by nanoseconds: Int64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .distantFuture : Instant(nanoseconds: sum)
    }

    /// The moment by the clock on the wall, as that stands now. Both clocks are asked once, so that equal moments stay equal.
    var date: Date { Self.origin.addingTimeInterval(Double(nanoseconds) / 1e9) }

    private static let origin = Date().addingTimeInterval(-Double(Instant.now.nanoseconds) / 1e9)

    func duration(to later: Instant) -> Duration { .nanoseconds(later.nanoseconds - nanoseconds) }
}

extension Duration {
    /// Whole nanoseconds, clamped to what 64 bits hold (292 years).
    var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carried ? (seconds < 0 ? .min : .max) : sum
    }

    /// Nanoseconds as a limit: zero or less is no limit, for ever.
    var limitInNanoseconds: Int64 {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? .max : nanoseconds
    }

    /// Whole milliseconds, rounded up so that a short limit is never taken for none.
    var millisecondsRoundedUp: Int {
        let nanoseconds = nanosecondsClamped
        return nanoseconds <= 0 ? 0 : Int((nanoseconds - 1) / 1_000_000 + 1)
    }
}
