/// Limits the rate of a transfer: by its own limit, and by the limit that the tasks of its session share.
///
/// A limiter is made only for a transfer that has a limit. It is accessed on the loop only.
///
/// libcurl's own limits (`CURLOPT_MAX_RECV_SPEED_LARGE`) are not suitable:
///
/// - They apply to one transfer, so a session could not share them.
/// - The idle timer would treat a transfer that they hold as one with a silent peer.
/// - They average over seconds.
/// - Over HTTP/2 they do not close the window, so the peer continues to send into memory.
/// - A removed limit would still wait for the timer of the old one.
final class RateLimiter {
    private let sending: Gate
    private let receiving: Gate
    private var own: TokenBuckets
    private var shared: SharedRate?
    private let core: LoopCore

    /// - Parameter reopened: Called on the loop when bytes may pass again in a direction.
    init(
        core: LoopCore, limit: RateLimit, shared: SharedRate?, reopened: @escaping (TokenBuckets.Direction) -> Void
    ) {
        self.core = core
        own = TokenBuckets(limit, at: core.now)
        self.shared = shared
        sending = Gate { reopened(.sending) }
        receiving = Gate { reopened(.receiving) }
    }

    /// True if this number of bytes may pass now. Otherwise the limiter calls `reopened` when they may.
    func admits(_ count: Int, _ direction: TokenBuckets.Direction) -> Bool {
        let gate = gate(direction)
        if gate.granted < count {
            let missing = count - gate.granted
            let opening = max(
                own.reserve(missing, direction, at: core.now),
                shared?.reserve(missing, direction, at: core.now) ?? core.now)
            gate.opening = max(gate.opening, opening)
            gate.granted = count
        }
        guard gate.opening <= core.now else {
            core.timers.set(gate, to: gate.opening)
            return false
        }
        gate.granted -= count
        return true
    }

    /// The number of bytes, at most `count`, that may pass now; 0 means waiting for `reopened`.
    func allowance(for count: Int, _ direction: TokenBuckets.Direction) -> Int {
        let step = min(own[direction]?.step ?? .max, shared?.step(direction) ?? .max)
        let granted = gate(direction).granted
        let part = min(count, granted > 0 ? granted : step)
        return admits(part, direction) ? part : 0
    }

    /// Keeps an allowance that was not used for the next time.
    func keep(_ count: Int, _ direction: TokenBuckets.Direction) { gate(direction).granted += count }

    /// Changes the limits.
    func change(limit: RateLimit, shared: SharedRate?) {
        release()
        own.change(to: limit, at: core.now)
        self.shared = shared
    }

    /// Returns the reserved bytes to the limits.
    func release() {
        for direction in [TokenBuckets.Direction.sending, .receiving] {
            let gate = gate(direction)
            core.timers.remove(gate)
            own.giveBack(gate.granted, direction)
            shared?.giveBack(gate.granted, direction)
            gate.granted = 0
            gate.opening = core.now
        }
    }

    private func gate(_ direction: TokenBuckets.Direction) -> Gate { direction == .sending ? sending : receiving }

    /// The state of one direction of the transfer.
    private final class Gate: LoopTimer {
        private let reopened: () -> Void
        /// The bytes that may pass when the gate opens.
        var granted = 0
        var opening = Instant(nanoseconds: 0)

        init(_ reopened: @escaping () -> Void) { self.reopened = reopened }

        override func fire() { reopened() }
    }
}

/// A limit in one direction: a token bucket with a capacity of a tenth of a second.
///
/// A caller reserves a number of bytes, and gets the time from which they may pass. Later callers get later times. Thus
/// callers take turns, each with one reservation, and no caller has to wake another.
struct TokenBucket: Sendable {
    /// The rate in bytes per second; at least 1.
    private var rate: Int64
    /// The time at which all reservations are paid for.
    private var due: Instant

    /// The time that may be spent in advance, which compensates for late timers.
    private static let tolerance: Int64 = 100_000_000
    /// The greatest number of bytes of a turn.
    static let largestStep = 16 << 10

    init(_ limit: ByteSize, at now: Instant) {
        rate = Int64(max(1, limit.bytes))
        due = now
    }

    /// Reserves `count` bytes.
    /// - Returns: The time from which they may pass; `now` if that is immediately.
    mutating func reserve(_ count: Int, at now: Instant) -> Instant {
        let start = max(due, now)
        due = start.advanced(by: cost(count))
        return max(now, start.advanced(by: -Self.tolerance))
    }

    /// Returns reserved bytes that will not pass.
    mutating func giveBack(_ count: Int) { due = due.advanced(by: -cost(count)) }

    /// Changes the rate. Outstanding reservations remain, in bytes.
    mutating func change(to limit: ByteSize, at now: Instant) {
        let other = TokenBucket(limit, at: now)
        let owed = Double(max(0, now.duration(to: due).nanosecondsClamped)) * Double(rate) / Double(other.rate)
        rate = other.rate
        due = now.advanced(by: Int64(min(owed, 1e18)))
    }

    /// The number of bytes of a reservation: at most the number that may pass at once.
    var step: Int { Int(min(Int64(Self.largestStep), max(1, rate / 10))) }

    private func cost(_ count: Int) -> Int64 {
        guard count > 0 else { return 0 }
        let (product, isTooLarge) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max : (product - 1) / rate + 1
    }
}

/// The limits of both directions.
struct TokenBuckets: Sendable {
    enum Direction { case sending, receiving }

    private var sending: TokenBucket?
    private var receiving: TokenBucket?

    init(_ limit: RateLimit = .none, at now: Instant) { change(to: limit, at: now) }

    var isUnlimited: Bool { sending == nil && receiving == nil }

    subscript(direction: Direction) -> TokenBucket? { direction == .sending ? sending : receiving }

    mutating func change(to limit: RateLimit, at now: Instant) {
        Self.change(&sending, to: limit.sending, at: now)
        Self.change(&receiving, to: limit.receiving, at: now)
    }

    private static func change(_ bucket: inout TokenBucket?, to limit: ByteSize?, at now: Instant) {
        guard let limit else { return bucket = nil }
        if bucket == nil { bucket = TokenBucket(limit, at: now) } else { bucket?.change(to: limit, at: now) }
    }

    /// - Returns: The time from which the bytes may pass; `now` without a limit.
    mutating func reserve(_ count: Int, _ direction: Direction, at now: Instant) -> Instant {
        switch direction {
        case .sending: sending?.reserve(count, at: now) ?? now
        case .receiving: receiving?.reserve(count, at: now) ?? now
        }
    }

    mutating func giveBack(_ count: Int, _ direction: Direction) {
        switch direction {
        case .sending: sending?.giveBack(count)
        case .receiving: receiving?.giveBack(count)
        }
    }
}

/// The limit that the tasks of a session share, over all its loops.
final class SharedRate: Sendable {
    private struct State {
        var limit: RateLimit
        var buckets: TokenBuckets
    }

    private let state: Guarded<State>

    init(_ limit: RateLimit) { state = Guarded(State(limit: limit, buckets: TokenBuckets(limit, at: .now))) }

    var limit: RateLimit { state.withLock { $0.limit } }

    var isUnlimited: Bool { state.withLock { $0.buckets.isUnlimited } }

    func change(to limit: RateLimit, at now: Instant = .now) {
        state.withLock { state in
            state.limit = limit
            state.buckets.change(to: limit, at: now)
        }
    }

    func reserve(_ count: Int, _ direction: TokenBuckets.Direction, at now: Instant) -> Instant {
        state.withLock { $0.buckets.reserve(count, direction, at: now) }
    }

    func giveBack(_ count: Int, _ direction: TokenBuckets.Direction) {
        state.withLock { $0.buckets.giveBack(count, direction) }
    }

    /// The number of bytes of a reservation.
    func step(_ direction: TokenBuckets.Direction) -> Int {
        state.withLock { $0.buckets[direction]?.step ?? .max }
    }
}
