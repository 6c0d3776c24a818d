/// The times at which requests of a group may be sent. The rate applies to the group together; the limits that a server
/// announces apply to requests to that server alone. It is a pure value; times are in nanoseconds.
package struct RateMachine: Sendable {
    /// The decision about a new request.
    package enum Arrival: Sendable, Equatable {
        /// The request is admitted, counted in a period.
        case goes(Int)
        /// The request waits under a number; an older request may be dropped for it.
        case waits(UInt64, dropping: UInt64?)
        /// The queue is full.
        case isRefused
        /// The wait would exceed the limit of the queue.
        case isTooLate(wait: Int64)
        /// The call would expire before the request is admitted.
        case isHopeless
    }

    /// The result of a request.
    package struct Answer: Sendable {
        /// The status; 0 without a response.
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
    /// The servers of the group by origin, with their limits and the requests that wait for them.
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
    /// The number of remembered servers.
    var serverCount: Int { servers.count }

    /// True if the group can be evicted without loss.
    mutating func isIdle(at moment: Int64) -> Bool {
        let now = time.at(moment)
        return servers.allSatisfy { $0.isIdle(at: now) }
    }

    /// The time until the first waiting request may be sent; without waiting requests, until a new request to some
    /// server may be sent.
    package mutating func wait(at moment: Int64) -> Int64 {
        let now = time.at(moment)
        let asked = servers.indices.filter { waitingAt.isEmpty || !servers[$0].queued.isEmpty }
        bucket?.refill(at: now)
        for index in asked { servers[index].refill(at: now) }
        let first = asked.map { max(servers[$0].wait(now), servers[$0].careWait(now)) }.min() ?? 0
        return max(first, bucket?.wait ?? 0)
    }

    /// Updates the rate, and the servers that requests wait for.
    private mutating func refill(at now: Int64) {
        bucket?.refill(at: now)
        guard !waitingAt.isEmpty else { return }
        for index in servers.indices where !servers[index].queued.isEmpty { servers[index].refill(at: now) }
    }

    // MARK: Arrival

    /// - Parameters:
    ///   - origin: The server; requests with the same origin share its limits.
    ///   - remaining: The remaining time of the call; nil without a limit.
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

    /// Drops a request from a full queue; nil if the new request is refused. A request for a server that has stopped
    /// its requests makes room for one to another server, so that one server does not fill the shared queue.
    private mutating func makePlace(for priority: RequestOptions.Priority, _ newcomer: Int, _ now: Int64) -> UInt64? {
        let candidates = servers.indices.filter { index in
            queue.dropsOldest || (servers[index].isStopping(now) && !servers[newcomer].isStopping(now))
        }
        let heads = candidates.compactMap { servers[$0].queued.last }
        guard let least = heads.min(by: { ($0.level, $0.number) < ($1.level, $1.number) }),
            least.level <= priority.rawValue
        else { return nil }
        _ = leave(least.number)
        return least.number
    }

    private func mayGo(_ index: Int, _ now: Int64) -> Bool {
        servers[index].mayGo(now) && bucket?.wait ?? 0 == 0
    }

    /// True if a waiting request lacks only its turn.
    private func hasReady(_ now: Int64) -> Bool {
        !waitingAt.isEmpty && servers.contains { !$0.queued.isEmpty && $0.mayGo(now) }
    }

    /// - Returns: The period.
    private mutating func go(_ index: Int, _ now: Int64) -> Int {
        bucket?.take()
        return servers[index].go(now)
    }

    /// The shortest wait of a new request.
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

    /// - Returns: False if it was already admitted or dropped.
    package mutating func leave(_ number: UInt64) -> Bool {
        guard let origin = waitingAt.removeValue(forKey: number), let index = indices[origin] else { return false }
        return servers[index].queued.leave(number)
    }

    /// The next admissible request, and its period; called until it is nil.
    package mutating func next(at moment: Int64) -> (number: UInt64, period: Int)? {
        let now = time.at(moment)
        refill(at: now)
        guard !waitingAt.isEmpty, bucket?.wait ?? 0 == 0 else { return nil }
        // Every eighth turn goes to the oldest request, as within a queue.
        let isFair = (turns + 1) % WaitingLine<UInt64>.period == 0
        var best: (index: Int, head: WaitingQueue.Head)?
        for index in servers.indices where !servers[index].queued.isEmpty && servers[index].mayGo(now) {
            let found = isFair ? servers[index].queued.oldest : servers[index].queued.first
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

    /// Records the response to a request, or its failure.
    /// - Parameters:
    ///   - origin: The server that received the request.
    ///   - sent: The period in which the request was counted.
    package mutating func take(_ answer: Answer, from origin: String = "", of sent: Int, now moment: Int64) {
        let now = time.at(moment)
        guard let index = indices[origin] else { return }
        servers[index].refill(at: now)
        servers[index].take(answer, of: sent, now)
    }

    // MARK: Servers

    /// The server of an origin, created if necessary.
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

    /// Evicts half of the servers: first those without limits, then the least recently used. Servers in use are kept.
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

/// A bucket of tokens for a rate; each request takes one.
private struct RequestBucket: Sendable {
    private let rate: RequestRateLimiter.Rate
    private var tokens: Double
    private var refilledAt: Int64
    /// The present share of the rate.
    private(set) var factor = 1.0

    /// The lowest share of the rate.
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

    /// The time until a token is available.
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

/// The limits that one server announces, and the requests of a group that wait for it.
private struct Server: Sendable {
    private static let second: Int64 = 1_000_000_000
    /// The longest time for which a server can stop its requests: an hour.
    private static let longestBlock = 3600 * second
    /// The wait after a 429 without a time: a second, doubling up to `lastBackoff`.
    private static let firstBackoff = second
    private static let lastBackoff = 60 * second
    /// The number of unanswered requests at which the slow start after a refusal ends.
    private static let enoughAtATime = 256
    /// The time without a response after which another request is sent, so that an unresponsive server does not block
    /// the queue.
    private static let patience = 30 * second

    let origin: String
    /// The rate, as slowed down by the server's refusals.
    private var bucket: RequestBucket?
    /// The number of the last use, unique among servers.
    var use: UInt64
    var queued = WaitingQueue()
    private var lastDecrease: Int64 = .min
    /// The time from which requests may be sent again.
    private var blockedUntil: Int64 = .min
    private var refusals = 0
    /// The number of requests that the server accepts before `until`.
    private var quota: (left: Int64, until: Int64)?
    /// The number of the period. A refusal begins a new one; responses to requests of an earlier period do not count
    /// for it.
    private var period = 0
    /// The number of requests of the period that may be unanswered after a refusal: a slow start, so that waiting
    /// requests are not sent all at once.
    private var care: Int?
    private var lastSent: Int64 = .min
    /// The number of requests without a head: of the period, and of all periods.
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

    /// The wait for the server's limits and the rate, without the slow start.
    func wait(_ now: Int64) -> Int64 { max(stop(now), bucket?.wait ?? 0) }

    /// The time for which the server has stopped its requests.
    private func stop(_ now: Int64) -> Int64 {
        var until = max(now, blockedUntil)
        if let quota, quota.left <= 0 { until = max(until, quota.until) }
        return until - now
    }

    /// The time for which the slow start holds back the next request if no response comes before.
    func careWait(_ now: Int64) -> Int64 {
        guard let care, unanswered >= care else { return 0 }
        return max(0, lastSent.clampedAdding(Self.patience) - now)
    }

    /// True if the server holds back its requests, and not the local rate.
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

    /// Begins a period. Requests that are refused together count once.
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
        // The server has not yet counted the running requests, so they are subtracted.
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
        // After repeated refusals, a server that asks for no wait gets a wait of 0.1 s.
        let wait = min(asked.map { refusals > 1 ? max($0, Self.second / 10) : $0 } ?? backoff, Self.longestBlock)
        blockedUntil = max(blockedUntil, now.clampedAdding(wait))
    }
}
