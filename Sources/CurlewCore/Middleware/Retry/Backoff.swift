package import HTTPTypes

extension Retry {
    /// The wait before a request is sent again: a random time up to a bound that doubles with each failure ("full
    /// jitter"). The randomness keeps many clients from retrying at the same moment.
    public struct Backoff: Sendable {
        /// The bound after the first failure. 100 ms by default.
        public var base: Duration
        /// The largest bound. 10 seconds by default.
        public var maximum: Duration
        /// Yields the part of the bound that is waited, from 0 up to 1, once a wait. The default is the system's random
        /// numbers; tests use a fixed or seeded source.
        public var random: @Sendable () -> Double

        public init(
            base: Duration = .milliseconds(100), maximum: Duration = .seconds(10),
            random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
        ) {
            self.base = base
            self.maximum = maximum
            self.random = random
        }

        /// The longest wait after a number of failures.
        func bound(after failures: Int) -> Duration {
            // The bound of a day keeps the doubling from overflowing.
            let limit = min(max(maximum, .zero), .seconds(86_400))
            let first = min(max(base, .zero), limit)
            return min(first * (1 << min(max(failures, 1) - 1, 30)), limit)
        }

        package func wait(after failures: Int) -> Duration {
            bound(after: failures) * min(max(random(), 0), 1)
        }
    }
}

/// The wait that a server asks for (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// The upper limit of a wait, 136 years, so that no clock overflows.
    package static let longest = Duration.seconds(1 << 32)

    /// The wait, from zero up to ``longest``; nil if the field is absent or unreadable.
    ///
    /// A date is read relative to the response's Date, so that the clocks need not agree; without a Date it is read
    /// relative to the local clock. A past date is a wait of zero. Of several fields, or several numbers in one field,
    /// the longest wait counts.
    ///
    /// Servers also send fractions and units, which RFC 9110 does not define: `1.5` means 2 seconds and `30s` means 30
    /// seconds. Fractions are rounded up, as an early request does harm and a late one does not. Negative numbers are
    /// ignored.
    package static func wait(_ fields: HTTPFields, now: HTTPDate = .now) -> Duration? {
        let values = fields[values: .retryAfter]
        guard !values.isEmpty else { return nil }
        let sent = fields[.date].flatMap { HTTPDate($0, now: now) } ?? now
        return values.compactMap { wait($0, sent, now) }.max()
    }

    /// The wait, relative to the present time.
    package static func wait(askedBy fields: HTTPFields) -> Duration? { wait(fields) }

    private static func wait(_ value: String, _ sent: HTTPDate, _ now: HTTPDate) -> Duration? {
        if let date = HTTPDate(value, now: now) {
            return min(.seconds(max(0, date.secondsSince1970 - sent.secondsSince1970)), longest)
        }
        let numbers = Array(value.utf8).split(separator: .comma, maxSplits: 15).compactMap { SecondsText.roundedUp($0) }
        return numbers.max().map { min(.seconds($0), longest) }
    }
}
