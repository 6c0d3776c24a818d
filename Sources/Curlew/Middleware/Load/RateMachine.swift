/// When requests of a group may be sent: by a rate of our own, and by what the server has said. A pure value; times are in nanoseconds.
package struct RateMachine: Sendable {
    /// The decision about a newcomer.
    package enum Arrival: Sendable, Equatable {
        /// It goes, counted in a period.
        case goes(Int)
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
    private var queued = WaitingQueue()
    private var time = SteadyTime()
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
    /// A refusal begins another period. What was sent before it says nothing about what may be sent after it.
    private var period = 0
    /// How many of the period may be unanswered at a time after a refusal: those who wait do not come back all at once.
    private var care: Int?
    /// Sent, and without a head yet: of the period, and in all.
    private var unanswered = 0
    private var underWay = 0

    package init(_ rate: RequestRateLimiter.Rate?, _ queue: LoadQueue, now: Int64) {
        self.rate = rate
        self.queue = queue
        tokens = Double(rate?.burst ?? 0)
        refilledAt = now
    }

    package var waiting: Int { queued.count }
    var isInUse: Bool { underWay > 0 || !queued.isEmpty }

    /// True if nothing would be lost with the group.
    mutating func isIdle(at moment: Int64) -> Bool {
        let now = time.at(moment)
        return !isInUse && blockedUntil <= now && quota.map { $0.until <= now } ?? true
    }

    /// The time until the first of those who wait may go; nil if only an answer can say.
    package mutating func wait(at moment: Int64) -> Int64? {
        let now = time.at(moment)
        refill(at: now)
        return isAwaitingAnswer ? nil : wait(now)
    }

    private var isAwaitingAnswer: Bool { care.map { unanswered >= $0 } ?? false }

    /// The time that the server and the rate ask for, care aside.
    private func wait(_ now: Int64) -> Int64 {
        var until = max(now, blockedUntil)
        if let quota, quota.left <= 0 { until = max(until, quota.until) }
        var wait = until - now
        if let rate, tokens < 1 {
            let missing = (1 - tokens) * rate.interval / factor
            wait = max(wait, Int64(min(missing.rounded(.up), 1e18)))
        }
        return wait
    }

    private mutating func refill(at now: Int64) {
        if let quota, quota.until <= now { self.quota = nil }
        guard let rate, now > refilledAt else { return }
        let passed = Double(now) - Double(refilledAt)
        refilledAt = now
        tokens = min(Double(rate.burst), tokens + passed / rate.interval * factor)
        factor = min(1, factor + passed / Double(Self.second) * 0.1)
    }

    private func mayGo(_ now: Int64) -> Bool { !isAwaitingAnswer && wait(now) == 0 }

    /// - Returns: The period.
    private mutating func go() -> Int {
        if rate != nil { tokens -= 1 }
        quota?.left -= 1
        unanswered += 1
        underWay += 1
        return period
    }

    /// - Parameter remaining: The time that the call has left; nil without a limit.
    package mutating func arrive(
        _ priority: RequestOptions.Priority, remaining: Int64?, now moment: Int64
    ) -> Arrival {
        let now = time.at(moment)
        refill(at: now)
        if queued.isEmpty, mayGo(now) { return .goes(go()) }
        let wait = expectedWait(priority, now)
        let limit = queue.timeout.nanosecondsClamped
        if let remaining, queue.shedsLateCalls, wait >= remaining, remaining <= limit { return .isHopeless }
        if wait > limit { return .isTooLate(wait: wait) }
        guard queued.count >= queue.capacity else { return .waits(queued.join(priority), dropping: nil) }
        guard queue.dropsOldest, let dropped = queued.dropOldest(below: priority) else { return .isRefused }
        return .waits(queued.join(priority), dropping: dropped)
    }

    /// The least time that a newcomer waits.
    private func expectedWait(_ priority: RequestOptions.Priority, _ now: Int64) -> Int64 {
        let first = wait(now)
        guard let rate else { return first }
        let behind = Int64(min(Double(queued.ahead(of: priority)) * rate.interval / factor, 1e18))
        return min(first, .max / 2) + behind
    }

    /// - Returns: False if it has had its turn, or was dropped.
    package mutating func leave(_ number: UInt64) -> Bool { queued.leave(number) }

    /// The next whose time has come, and its period; called until it is nil.
    package mutating func next(at moment: Int64) -> (number: UInt64, period: Int)? {
        let now = time.at(moment)
        refill(at: now)
        guard !queued.isEmpty, mayGo(now), let number = queued.next() else { return nil }
        return (number, go())
    }

    /// A request has an answer, or will have none.
    /// - Parameter sent: The period that it was counted in.
    package mutating func take(_ answer: Answer, of sent: Int, now moment: Int64) {
        let now = time.at(moment)
        underWay -= 1
        let isCurrent = sent == period
        if isCurrent { unanswered -= 1 }
        refill(at: now)
        if let quota = answer.quota { take(quota, now) }
        let isRefusal = answer.status == 429
        guard isRefusal || (answer.status == 503 && answer.retryAfter != nil) else {
            guard answer.status > 0, isCurrent else { return }
            refusals = 0
            care = care.flatMap { $0 >= Self.enoughAtATime ? nil : $0 * 2 }
            return
        }
        if isCurrent { beginPeriod(isRefusal, now) }
        block(answer, now)
    }

    /// What was refused together counts once.
    private mutating func beginPeriod(_ isRefusal: Bool, _ now: Int64) {
        period += 1
        unanswered = 0
        refusals += 1
        care = 1
        guard isRefusal, lastDecrease == .min || now &- lastDecrease >= Self.second else { return }
        lastDecrease = now
        factor = max(Self.leastFactor, factor / 2)
        tokens = min(tokens, 0)
    }

    private mutating func take(_ quota: ServerQuota, _ now: Int64) {
        // Those under way are not counted yet.
        let left = quota.remaining - min(quota.remaining, Int64(underWay))
        if let reset = quota.reset {
            self.quota = (left, now.clampedAdding(min(reset.nanosecondsClamped, Self.longestBlock)))
        } else if quota.remaining == 0 {
            self.quota = (0, now.clampedAdding(Self.firstBackoff))
        }
    }

    private mutating func block(_ answer: Answer, _ now: Int64) {
        let backoff = min(Self.firstBackoff << Int64(min(max(refusals, 1) - 1, 10)), Self.lastBackoff)
        let own = answer.quota.flatMap { $0.remaining == 0 ? $0.reset : nil }
        let asked = (answer.retryAfter ?? own)?.nanosecondsClamped
        // A server that says "at once" and refuses all the same is not taken at its word for ever.
        let wait = min(asked.map { refusals > 1 ? max($0, Self.second / 10) : $0 } ?? backoff, Self.longestBlock)
        blockedUntil = max(blockedUntil, now.clampedAdding(wait))
    }
}
