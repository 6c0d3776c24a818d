/// When requests of a group may be sent: by a rate of our own, and by what the server has said. A pure value; times are in nanoseconds.
package struct RateMachine: Sendable {
    /// The decision about a newcomer.
    package enum Arrival: Sendable, Equatable {
        case goes
        /// It waits under a number; one that has waited longer may have to leave for it.
        case waits(UInt64, dropping: UInt64?)
        /// There is no place to wait.
        case isRefused
        /// It would have to wait for longer than it may.
        case isTooLate(wait: Int64)
        /// Its call would be over before it has its turn.
        case isHopeless
    }

    /// What has come of a request.
    package struct Answer: Sendable {
        /// 0 if there was none.
        package var status: Int
        package var retryAfter: Duration?
        package var quota: ServerQuota?

        package init(status: Int, retryAfter: Duration? = nil, quota: ServerQuota? = nil) {
            self.status = status
            self.retryAfter = retryAfter
            self.quota = quota
        }
    }

    private static let second: Int64 = 1_000_000_000
    /// For so long a server can make everybody wait at most: an hour.
    static let longestBlock = 3600 * second
    /// The wait after a 429 that says nothing about it, doubling up to the last one.
    private static let firstBackoff = second
    private static let lastBackoff = 60 * second
    /// The rate is not slowed down further than to this part.
    private static let leastFactor = 1.0 / 32
    /// With so many at a time the care after a refusal is over.
    private static let enoughAtATime = 256

    private let rate: RequestRateLimiter.Rate?
    private let queue: LoadQueue
    private var line = WaitingLine()
    private var tokens: Double
    private var refilledAt: Int64
    /// Which part of the rate holds, as the server has refused requests.
    private var factor = 1.0
    private var lastDecrease: Int64 = .min
    /// When requests may go again.
    private var blockedUntil: Int64 = .min
    private var refusals = 0
    /// What the server still takes before `until`.
    private var quota: (left: Int64, until: Int64)?
    /// How many may be unanswered at a time after a refusal: those who wait do not come back all at once.
    private var care: Int?
    /// Sent, and without a head yet.
    private(set) package var unanswered = 0

    package init(_ rate: RequestRateLimiter.Rate?, _ queue: LoadQueue, now: Int64) {
        self.rate = rate
        self.queue = queue
        tokens = Double(rate?.burst ?? 0)
        refilledAt = now
    }

    package var waiting: Int { line.count }
    /// True if nothing would be lost with the group.
    func isIdle(at now: Int64) -> Bool {
        line.isEmpty && unanswered == 0 && blockedUntil <= now && quota.map { $0.until <= now } ?? true
    }

    /// The time at which the first of those who wait may go; nil if only an answer can say.
    package mutating func nextTime(at now: Int64) -> Int64? {
        refill(at: now)
        if let care, unanswered >= care { return nil }
        var time = max(now, blockedUntil)
        if let quota, quota.left <= 0 { time = max(time, quota.until) }
        if let rate, tokens < 1 {
            let missing = (1 - tokens) * rate.interval / factor
            time = max(time, now &+ Int64(min(missing.rounded(.up), 1e18)))
        }
        return time
    }

    private mutating func refill(at now: Int64) {
        if let quota, quota.until <= now { self.quota = nil }
        guard let rate, now > refilledAt else { return }
        let passed = Double(now - refilledAt)
        refilledAt = now
        tokens = min(Double(rate.burst), tokens + passed / rate.interval * factor)
        factor = min(1, factor + passed / Double(Self.second) * 0.1)
    }

    private mutating func mayGo(at now: Int64) -> Bool { nextTime(at: now).map { $0 <= now } ?? false }

    private mutating func go() {
        if rate != nil { tokens -= 1 }
        quota?.left -= 1
        unanswered += 1
    }

    /// - Parameter remaining: The time that the call has left; nil without a limit.
    package mutating func arrive(_ priority: RequestOptions.Priority, remaining: Int64?, now: Int64) -> Arrival {
        if line.isEmpty, mayGo(at: now) {
            go()
            return .goes
        }
        let wait = expectedWait(priority, now)
        let limit = queue.timeout.nanosecondsClamped
        if let remaining, queue.shedsLateCalls, wait >= remaining, remaining <= limit { return .isHopeless }
        if wait > limit { return .isTooLate(wait: wait) }
        guard line.count >= queue.capacity else { return .waits(line.join(priority), dropping: nil) }
        guard queue.dropsOldest, let dropped = line.dropOldest(below: priority) else { return .isRefused }
        return .waits(line.join(priority), dropping: dropped)
    }

    /// The least time that a newcomer waits.
    private mutating func expectedWait(_ priority: RequestOptions.Priority, _ now: Int64) -> Int64 {
        guard let time = nextTime(at: now) else { return 0 }
        guard let rate else { return time - now }
        return (time - now) &+ Int64(min(Double(line.ahead(of: priority)) * rate.interval / factor, 1e18))
    }

    /// - Returns: False if it has had its turn, or was dropped.
    package mutating func leave(_ number: UInt64) -> Bool { line.leave(number) }

    /// The next whose time has come; called until it is nil.
    package mutating func next(at now: Int64) -> UInt64? {
        guard !line.isEmpty, mayGo(at: now), let number = line.next() else { return nil }
        go()
        return number
    }

    /// A request has an answer, or will have none.
    package mutating func take(_ answer: Answer, now: Int64) {
        unanswered -= 1
        refill(at: now)
        if let quota = answer.quota { take(quota, now) }
        let isRefusal = answer.status == 429
        guard isRefusal || (answer.status == 503 && answer.retryAfter != nil) else {
            guard answer.status > 0 else { return }
            refusals = 0
            care = care.flatMap { $0 >= Self.enoughAtATime ? nil : $0 * 2 }
            return
        }
        block(answer, now)
        care = 1
        guard isRefusal, lastDecrease == .min || now &- lastDecrease >= Self.second else { return }
        // Once for all that were refused together.
        lastDecrease = now
        factor = max(Self.leastFactor, factor / 2)
        tokens = min(tokens, 0)
    }

    private mutating func take(_ quota: ServerQuota, _ now: Int64) {
        // Those under way are not counted yet.
        let left = quota.remaining - min(quota.remaining, Int64(unanswered))
        if let reset = quota.reset {
            self.quota = (left, now &+ min(reset.nanosecondsClamped, Self.longestBlock))
        } else if quota.remaining == 0 {
            self.quota = (0, now &+ Self.firstBackoff)
        }
    }

    private mutating func block(_ answer: Answer, _ now: Int64) {
        refusals += 1
        let backoff = min(Self.firstBackoff << Int64(min(refusals - 1, 10)), Self.lastBackoff)
        let own = answer.quota.flatMap { $0.remaining == 0 ? $0.reset : nil }
        let asked = (answer.retryAfter ?? own)?.nanosecondsClamped
        // A server that says "at once" and refuses all the same is not taken at its word for ever.
        let wait = min(asked.map { refusals > 1 ? max($0, Self.second / 10) : $0 } ?? backoff, Self.longestBlock)
        blockedUntil = max(blockedUntil, now &+ wait)
    }
}
