internal import HTTPTypes

/// The wait that a server asks for (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Waits beyond this, 136 years, are taken for it, so that no clock overflows.
    static let longest = Duration.seconds(1 << 32)

    /// The wait, from zero up to ``longest``; nil if the field is absent or says nothing that can be understood.
    ///
    /// A date is taken relative to the response's Date, so that the clocks need not agree, else to ours. One that has passed
    /// is no wait. Of several fields the longest wait counts.
    static func wait(_ fields: HTTPFields, now: HTTPDate = .now) -> Duration? {
        let values = fields[values: .retryAfter]
        guard !values.isEmpty else { return nil }
        let sent = fields[.date].flatMap { HTTPDate($0, now: now) } ?? now
        return values.compactMap { wait($0, sent, now) }.max()
    }

    private static func wait(_ value: String, _ sent: HTTPDate, _ now: HTTPDate) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(\.isDigit) {
            // More digits than a number holds are a long time all the same.
            return min(.seconds(Int64(value) ?? .max), longest)
        }
        guard let date = HTTPDate(value, now: now) else { return nil }
        return min(.seconds(max(0, date.secondsSince1970 - sent.secondsSince1970)), longest)
    }
}
