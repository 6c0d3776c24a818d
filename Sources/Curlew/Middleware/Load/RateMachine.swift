/// The times at which requests of a group may be sent: by a rate of our own, which all of the group share, and by the words of each server,
/// which hold for its own requests alone. A pure value; times are in nanoseconds.
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

    private let rate: RequestRateLimiter.Rate?
    private let queue: LoadQueue
    private var time = SteadyTime()
    private var bucket: RequestBucket?
    /// The servers of the group by their origins: their words, and the requests that wait for them.
    private var servers: [Server] = []
    private var indices: [String: Int] = [:]
    private var forgetsAt = LoadScope.groupLimit
    private var uses: UInt64 = 0
    private var lastNumber: UInt64 = 0
    private var waitingAt: [UInt64: String] = [:]
    private var turns = 0

    package init(_ rate: RequestRateLimiter.Rate?, _ queue: LoadQueue, now: Int64) {
        self.rate = rate
        self.queue = queue
        bucket = rate.map { RequestBucket($0, now) }
    }

    package var waiting: Int { waitingAt.count }
    var isInUse: Bool { !waitingAt.isEmpty || servers.contains(where: \.isInUse) }
    /// The servers whose words are remembered.
    var serverCount: Int { servers.count }

    /// True if nothing would be lost with the group.
    mutating func isIdle(at moment: Int64) -> Bool {
        let now = time.at(moment)
        return servers.allSatisfy { $0.isIdle(at: now) }
    }

    /// The time until the first of those that wait may go; without any, until a newcomer to some server may.
    package mutating func wait(at moment: Int64) -> Int64 {
        let now = time.at(moment)
        let asked = servers.indices.filter { waitingAt.isEmpty || !servers[$0].queued.isEmpty }
        bucket?.refill(at: now)
        for index in asked { servers[index].refill(at: now) }
        let first = asked.map { max(servers[$0].wait(now), servers[$0].careWait(now)) }.min() ?? 0
        return max(first, bucket?.wait ?? 0)
    }

    /// Brings the rate and the servers that requests wait for up to date.
    private mutating func refill(at now: Int64) {
        bucket?.refill(at: now)
        guard !waitingAt.isEmpty else { return }
        for index in servers.indices where !servers[index].queued.isEmpty { servers[index].refill(at: now) }
    }

    // MARK: Arrival

    /// - Parameters:
    ///   - origin: The server; all that have one name share its words.
    ///   - remaining: The time that the call has left; nil without a limit.
    package mutating func arrive(
        _ priority: RequestOptions.Priority, at origin: String = "", remaining: Int64?, now moment: Int64
    ) -> Arrival {
        let now = time.at(moment)
        let index = server(at: origin, now)
        refill(at: now)
        servers[index].refill(at: now)
        if servers[index].queued.isEmpty, mayGo(index, now), !hasReady(now) { return .goes(go(index, now)) }
        let wait = expectedWait(priority, index, now)
        let limit = queue.timeout.nanosecondsClamped
        if let remaining, queue.shedsLateCalls, wait >= remaining, remaining <= limit { return .isHopeless }
        if wait > limit { return .isTooLate(wait: wait) }
        guard waiting >= queue.capacity else { return .waits(join(priority, origin, index), dropping: nil) }
        guard let dropped = makePlace(for: priority, index, now) else { return .isRefused }
        return .waits(join(priority, origin, index), dropping: dropped)
    }

    private mutating func join(_ priority: RequestOptions.Priority, _ origin: String, _ index: Int) -> UInt64 {
        lastNumber += 1
        servers[index].queued.join(priority, as: lastNumber)
        waitingAt[lastNumber] = origin
        return lastNumber
    }

    /// Takes one out of a full queue. A request that waits for a server which has stopped its requests leaves its place to one for another
    /// server, so that one server does not fill the queue of all.
    private mutating func makePlace(for priority: RequestOptions.Priority, _ newcomer: Int, _ now: Int64) -> UInt64? {
        let candidates = servers.indices.filter { index in
            queue.dropsOldest || (servers[index].isStopping(now) && !servers[newcomer].isStopping(now))
        }
        let heads = candidates.compactMap { servers[$0].queued.last() }
        guard let least = heads.min(by: { ($0.level, $0.number) < ($1.level, $1.number) }),
            least.level <= priority.rawValue
        else { return nil }
        _ = leave(least.number)
        return least.number
    }

    private func mayGo(_ index: Int, _ now: Int64) -> Bool {
        servers[index].mayGo(now) && bucket?.wait ?? 0 == 0
    }

    /// True if a request waits that only its turn keeps.
    private func hasReady(_ now: Int64) -> Bool {
        !waitingAt.isEmpty && servers.contains { !$0.queued.isEmpty && $0.mayGo(now) }
    }

    /// - Returns: The period.
    private mutating func go(_ index: Int, _ now: Int64) -> Int {
        bucket?.take()
        return servers[index].go(now)
    }

    /// The least time that a newcomer waits.
    private func expectedWait(_ priority: RequestOptions.Priority, _ index: Int, _ now: Int64) -> Int64 {
        let own = servers[index]
        let first = max(own.wait(now), bucket?.wait ?? 0)
        guard let rate else { return first }
        let ahead = servers.indices.reduce(0) { sum, other in
            other == index || servers[other].mayGo(now) ? sum + servers[other].queued.ahead(of: priority) : sum
        }
        let all = Double(ahead) * rate.interval
        let behindOwn = Double(own.queued.ahead(of: priority)) * rate.interval / own.factor
        return min(first, .max / 2) + Int64(min(max(all, behindOwn), 1e18))
    }

    // MARK: Turns

    /// - Returns: False if it has had its turn, or was dropped.
    package mutating func leave(_ number: UInt64) -> Bool {
        guard let origin = waitingAt.removeValue(forKey: number), let index = indices[origin] else { return false }
        return servers[index].queued.leave(number)
    }

    /// The next whose time has come, and its period; called until it is nil.
    package mutating func next(at moment: Int64) -> (number: UInt64, period: Int)? {
        let now = time.at(moment)
        refill(at: now)
        guard !waitingAt.isEmpty, bucket?.wait ?? 0 == 0 else { return nil }
        // As within a queue, some turns are those of the longest wait.
        let isFair = (turns + 1) % WaitingQueue.fairness == 0
        var best: (index: Int, head: WaitingQueue.Head)?
        for index in servers.indices where !servers[index].queued.isEmpty && servers[index].mayGo(now) {
            let found = isFair ? servers[index].queued.oldest() : servers[index].queued.first()
            guard let found else { continue }
            guard let known = best?.head else {
                best = (index, found)
                continue
            }
            let isOlder = found.number < known.number
            if isFair ? isOlder : found.level > known.level || (found.level == known.level && isOlder) {
                best = (index, found)
            }
        }
        guard let best, leave(best.head.number) else { return nil }
        turns += 1
        return (best.head.number, go(best.index, now))
    }

    // MARK: Answers

    /// A request has an answer, or will have none.
    /// - Parameters:
    ///   - origin: The server that it was sent to.
    ///   - sent: The period that it was counted in.
    package mutating func take(_ answer: Answer, from origin: String = "", of sent: Int, now moment: Int64) {
        let now = time.at(moment)
        guard let index = indices[origin] else { return }
        servers[index].refill(at: now)
        servers[index].take(answer, of: sent, now)
    }

    // MARK: Servers

    /// The server of an origin, made if need be.
    private mutating func server(at origin: String, _ now: Int64) -> Int {
        uses &+= 1
        if let known = indices[origin] {
            servers[known].use = uses
            return known
        }
        if servers.count >= forgetsAt { forget(now) }
        indices[origin] = servers.count
        servers.append(Server(origin: origin, bucket: rate.map { RequestBucket($0, now) }, use: uses))
        return servers.count - 1
    }

    /// Forgets half of the servers, first those that ask for nothing, then those used longest ago. A server in use is kept.
    private mutating func forget(_ now: Int64) {
        let order = servers.filter { !$0.isInUse }.sorted {
            ($0.isIdle(at: now) ? 0 : 1, $0.use) < ($1.isIdle(at: now) ? 0 : 1, $1.use)
        }
        let forgotten = Set(order.prefix(LoadScope.groupLimit / 2).map(\.use))
        servers.removeAll { forgotten.contains($0.use) }
        indices = Dictionary(uniqueKeysWithValues: servers.indices.map { (servers[$0].origin, $0) })
        forgetsAt = max(LoadScope.groupLimit, servers.count + LoadScope.groupLimit / 2)
    }
}

/// Tokens of a rate, one for each request.
private struct RequestBucket: Sendable {
    private let rate: RequestRateLimiter.Rate
    private var tokens: Double
    private var refilledAt: Int64
    /// The part of the rate that holds.
    private(set) var factor = 1.0

    /// The rate is not slowed down further than to this part.
    private static let leastFactor = 1.0 / 32

    init(_ rate: RequestRateLimiter.Rate, _ now: Int64) {
        self.rate = rate
        tokens = Double(rate.burst)
        refilledAt = now
    }

    mutating func refill(at now: Int64) {
        guard now > refilledAt else { return }
        let passed = Double(now) - Double(refilledAt)
        refilledAt = now
        tokens = min(Double(rate.burst), tokens + passed / rate.interval * factor)
        factor = min(1, factor + passed / 1e9 * 0.1)
    }

    /// The time until there is a token.
    var wait: Int64 {
        guard tokens < 1 else { return 0 }
        let missing = (1 - tokens) * rate.interval / factor
        return Int64(min(missing.rounded(.up), 1e18))
    }

    mutating func take() { tokens -= 1 }

    mutating func slowDown() {
        factor = max(Self.leastFactor, factor / 2)
        tokens = min(tokens, 0)
    }
}

/// The words of one server about its limits, and the requests of a group that wait for it.
private struct Server: Sendable {
    private static let second: Int64 = 1_000_000_000
    /// The longest time for which a server can stop its requests: an hour.
    private static let longestBlock = 3600 * second
    /// The wait after a 429 that says nothing about it, doubling up to the last one.
    private static let firstBackoff = second
    private static let lastBackoff = 60 * second
    /// With so many at a time the care after a refusal is over.
    private static let enoughAtATime = 256
    /// After so long without an answer another request goes: a server that never answers does not stop the rest.
    private static let patience = 30 * second

    let origin: String
    /// The rate as the server has slowed it down by its refusals.
    private var bucket: RequestBucket?
    /// The last use; no two servers have the same.
    var use: UInt64
    var queued = WaitingQueue()
    private var lastDecrease: Int64 = .min
    /// The time from which on requests may go again.
    private var blockedUntil: Int64 = .min
    private var refusals = 0
    /// The requests that the server still takes before `until`.
    private var quota: (left: Int64, until: Int64)?
    /// A refusal begins another period. An answer to a request that was sent before it says nothing about later ones.
    private var period = 0
    /// The number of requests of the period that may be unanswered at a time after a refusal, so that those which wait do not come back all at once.
    private var care: Int?
    private var lastSent: Int64 = .min
    /// Sent, and without a head yet: of the period, and in all.
    private var unanswered = 0
    private var underWay = 0

    init(origin: String, bucket: RequestBucket?, use: UInt64) {
        self.origin = origin
        self.bucket = bucket
        self.use = use
    }

    var factor: Double { bucket?.factor ?? 1 }
    var isInUse: Bool { underWay > 0 || !queued.isEmpty }

    func isIdle(at now: Int64) -> Bool {
        !isInUse && blockedUntil <= now && quota.map { $0.until <= now } ?? true
    }

    mutating func refill(at now: Int64) {
        if let quota, quota.until <= now { self.quota = nil }
        bucket?.refill(at: now)
    }

    /// The time that the server and its rate ask for, care aside.
    func wait(_ now: Int64) -> Int64 { max(stop(now), bucket?.wait ?? 0) }

    /// The time for which the server has stopped its requests.
    private func stop(_ now: Int64) -> Int64 {
        var until = max(now, blockedUntil)
        if let quota, quota.left <= 0 { until = max(until, quota.until) }
        return until - now
    }

    /// The time for which care keeps the next request, if no answer comes before.
    func careWait(_ now: Int64) -> Int64 {
        guard let care, unanswered >= care else { return 0 }
        return max(0, lastSent.clampedAdding(Self.patience) - now)
    }

    /// True if the server, and not a rate of our own, keeps its requests.
    func isStopping(_ now: Int64) -> Bool { stop(now) > 0 || careWait(now) > 0 }

    func mayGo(_ now: Int64) -> Bool { careWait(now) == 0 && wait(now) == 0 }

    /// - Returns: The period.
    mutating func go(_ now: Int64) -> Int {
        bucket?.take()
        quota?.left -= 1
        unanswered += 1
        underWay += 1
        lastSent = now
        return period
    }

    mutating func take(_ answer: RateMachine.Answer, of sent: Int, _ now: Int64) {
        underWay -= 1
        let isCurrent = sent == period
        if isCurrent { unanswered -= 1 }
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

    /// Requests that are refused together count once.
    private mutating func beginPeriod(_ isRefusal: Bool, _ now: Int64) {
        period += 1
        unanswered = 0
        refusals += 1
        care = 1
        guard isRefusal, lastDecrease == .min || now &- lastDecrease >= Self.second else { return }
        lastDecrease = now
        bucket?.slowDown()
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

    private mutating func block(_ answer: RateMachine.Answer, _ now: Int64) {
        let backoff = min(Self.firstBackoff << Int64(min(max(refusals, 1) - 1, 10)), Self.lastBackoff)
        let own = answer.quota.flatMap { $0.remaining == 0 ? $0.reset : nil }
        let asked = (answer.retryAfter ?? own)?.nanosecondsClamped
        // A server that says "at once" and refuses all the same is not taken at its word for ever.
        let wait = min(asked.map { refusals > 1 ? max($0, Self.second / 10) : $0 } ?? backoff, Self.longestBlock)
        blockedUntil = max(blockedUntil, now.clampedAdding(wait))
    }
}
