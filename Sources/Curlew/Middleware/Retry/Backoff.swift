package import HTTPTypes

extension Retry {
    /// The wait before a request is sent again: any time up to a bound that doubles with each failure ("full jitter"),
    /// so that many clients do not come back at one moment.
    public struct Backoff: Sendable {
        /// The bound after the first failure. 100 ms by default.
        public var base: Duration
        /// The largest bound. 10 seconds by default.
        public var maximum: Duration
        /// Yields numbers from 0 up to 1, one a wait: which part of the bound is waited. By default the system's random numbers;
        /// tests put a fixed or seeded source in its place.
        public var random: @Sendable () -> Double

        public init(
            base: Duration = .milliseconds(100), maximum: Duration = .seconds(10),
            random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
        ) {
            self.base = base
            self.maximum = maximum
            self.random = random
        }

        /// The longest wait after so many failures.
        func bound(after failures: Int) -> Duration {
            // Beyond a day nothing is meant, and doubling must not overflow.
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
    /// Waits beyond this, 136 years, are taken for it, so that no clock overflows.
    static let longest = Duration.seconds(1 << 32)

    /// The wait, from zero up to ``longest``; nil if the field is absent or says nothing that can be understood.
    ///
    /// A date is taken relative to the response's Date, so that the clocks need not agree, else to ours. One that has passed
    /// is no wait. Of several fields, and of several numbers in one, the longest wait counts.
    ///
    /// Servers also send fractions and units, which RFC 9110 does not have: `1.5` is 2 seconds and `30s` is 30, as a request that comes
    /// too early does harm and one that comes a second late does none. A negative number says nothing.
    static func wait(_ fields: HTTPFields, now: HTTPDate = .now) -> Duration? {
        let values = fields[values: .retryAfter]
        guard !values.isEmpty else { return nil }
        let sent = fields[.date].flatMap { HTTPDate($0, now: now) } ?? now
        return values.compactMap { wait($0, sent, now) }.max()
    }

    /// The wait, as of now.
    package static func wait(askedBy fields: HTTPFields) -> Duration? { wait(fields) }

    private static func wait(_ value: String, _ sent: HTTPDate, _ now: HTTPDate) -> Duration? {
        if let date = HTTPDate(value, now: now) {
            return min(.seconds(max(0, date.secondsSince1970 - sent.secondsSince1970)), longest)
        }
        let numbers = Array(value.utf8).split(separator: .comma, maxSplits: 15).compactMap { SecondsText.roundedUp($0) }
        return numbers.max().map { min(.seconds($0), longest) }
    }
}
