/// A limit in one direction, as a line of bytes that wait for their turn: a token bucket that holds a tenth of a second.
///
/// Whoever wants to pass asks how many bytes, and is told the moment from which they may. That moment is theirs: those who ask
/// later are told a later one. So each of many has its turn after the others, with one question at a time and nobody to be
/// woken by anybody else.
struct RateLine: Sendable {
    /// Bytes a second; 1 at least.
    private(set) var rate: Int64
    /// When all that was let in is paid for.
    private(set) var due: Instant

    /// How much of the future may be spent at once: what makes up for timers that are late.
    static let tolerance: Int64 = 100_000_000
    /// The most bytes that are worth a turn.
    static let largestStep = 16 << 10

    init(_ limit: ByteCount, at now: Instant) {
        rate = Int64(max(1, limit.bytes))
        due = now
    }

    /// Lets `count` bytes in.
    /// - Returns: When they may pass; `now` if that is at once.
    mutating func reserve(_ count: Int, at now: Instant) -> Instant {
        let start = max(due, now)
        due = start.advanced(by: cost(count))
        return max(now, start.advanced(by: -Self.tolerance))
    }

    /// What was let in and will not pass after all.
    mutating func giveBack(_ count: Int) { due = due.advanced(by: -cost(count)) }

    /// Goes on at another rate; what is owed stays owed, in bytes.
    mutating func change(to limit: ByteCount, at now: Instant) {
        let other = RateLine(limit, at: now)
        let owed = Double(max(0, now.duration(to: due).nanosecondsClamped)) * Double(rate) / Double(other.rate)
        rate = other.rate
        due = now.advanced(by: Int64(min(owed, 1e18)))
    }

    /// How many bytes are asked for at a time: no more than the line lets pass at once.
    var step: Int { Int(min(Int64(Self.largestStep), max(1, rate / 10))) }

    private func cost(_ count: Int) -> Int64 {
        guard count > 0 else { return 0 }
        let (product, isTooLarge) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max : (product - 1) / rate + 1
    }
}
