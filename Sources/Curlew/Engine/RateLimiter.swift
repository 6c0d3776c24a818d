/// Holds one transfer to the limits in force: its own, and the one that it shares with the other tasks of its session.
///
/// Made only for a transfer that has a limit. It is touched on the loop alone.
///
/// libcurl has limits of its own (`CURLOPT_MAX_RECV_SPEED_LARGE`), which do not serve here: they know one transfer, so that a
/// session's could not be shared; a transfer that they hold looks like one whose peer is silent, as the idle timer sees it; they
/// average over seconds; over HTTP/2 they do not close the window, so that the peer sends on into memory; and a limit that is
/// lifted would wait for the timer that the old one had set.
final class RateLimiter {
    private let sending: Gate
    private let receiving: Gate
    private var own: TokenBuckets
    private var shared: SharedRate?
    private let core: LoopCore

    /// - Parameter reopened: Called on the loop when bytes may pass again in one direction.
    init(
        core: LoopCore, limit: RateLimit, shared: SharedRate?, reopened: @escaping (TokenBuckets.Direction) -> Void
    ) {
        self.core = core
        own = TokenBuckets(limit, at: core.now)
        self.shared = shared
        sending = Gate { reopened(.sending) }
        receiving = Gate { reopened(.receiving) }
    }

    /// True if so many bytes may pass now. If not, the limiter calls when they may.
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

    /// The number of bytes, `count` at most, that may pass now; 0 is to wait for the limiter's call.
    func allowance(for count: Int, _ direction: TokenBuckets.Direction) -> Int {
        let step = min(own[direction]?.step ?? .max, shared?.step(direction) ?? .max)
        let granted = gate(direction).granted
        let part = min(count, granted > 0 ? granted : step)
        return admits(part, direction) ? part : 0
    }

    /// Keeps for the next time what was allowed and was not there.
    func keep(_ count: Int, _ direction: TokenBuckets.Direction) { gate(direction).granted += count }

    /// Other limits hold from now on.
    func change(limit: RateLimit, shared: SharedRate?) {
        release()
        own.change(to: limit, at: core.now)
        self.shared = shared
    }

    /// Gives back what was reserved.
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

    /// One direction of the transfer.
    private final class Gate: LoopTimer {
        private let reopened: () -> Void
        /// Bytes that have their turn when the gate opens.
        var granted = 0
        var opening = Instant(nanoseconds: 0)

        init(_ reopened: @escaping () -> Void) { self.reopened = reopened }

        override func fire() { reopened() }
    }
}

/// A limit in one direction: a token bucket that holds a tenth of a second.
///
/// Whoever wants to pass says how many bytes, and gets the moment from which they may. That moment is theirs: those who ask
/// later get a later one. So each of many has its turn after the others, with one question at a time and nobody to be
/// woken by anybody else.
struct TokenBucket: Sendable {
    /// Bytes a second; 1 at least.
    private var rate: Int64
    /// When all that was reserved is paid for.
    private var due: Instant

    /// The time ahead that may be spent at once, which makes up for timers that are late.
    private static let tolerance: Int64 = 100_000_000
    /// The most bytes that are worth a turn.
    static let largestStep = 16 << 10

    init(_ limit: ByteSize, at now: Instant) {
        rate = Int64(max(1, limit.bytes))
        due = now
    }

    /// Reserves `count` bytes.
    /// - Returns: When they may pass; `now` if that is at once.
    mutating func reserve(_ count: Int, at now: Instant) -> Instant {
        let start = max(due, now)
        due = start.advanced(by: cost(count))
        return max(now, start.advanced(by: -Self.tolerance))
    }

    /// Takes back what was reserved and will not pass after all.
    mutating func giveBack(_ count: Int) { due = due.advanced(by: -cost(count)) }

    /// Goes on at another rate; what is owed stays owed, in bytes.
    mutating func change(to limit: ByteSize, at now: Instant) {
        let other = TokenBucket(limit, at: now)
        let owed = Double(max(0, now.duration(to: due).nanosecondsClamped)) * Double(rate) / Double(other.rate)
        rate = other.rate
        due = now.advanced(by: Int64(min(owed, 1e18)))
    }

    /// The number of bytes that are asked for at a time: no more than may pass at once.
    var step: Int { Int(min(Int64(Self.largestStep), max(1, rate / 10))) }

    private func cost(_ count: Int) -> Int64 {
        guard count > 0 else { return 0 }
        let (product, isTooLarge) = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max : (product - 1) / rate + 1
    }
}

/// A limit for each direction.
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

    /// - Returns: When so many bytes may pass; `now` if nothing limits them.
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

/// The limit that the tasks of a session share, on whichever loop they are.
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

    /// The number of bytes that are asked for at a time.
    func step(_ direction: TokenBuckets.Direction) -> Int {
        state.withLock { $0.buckets[direction]?.step ?? .max }
    }
}
