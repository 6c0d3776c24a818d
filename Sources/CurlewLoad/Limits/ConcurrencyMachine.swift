/// The concurrent and waiting requests of a group. It is a pure value: times are its input, decisions its output.
package struct ConcurrencyMachine: Sendable {
    /// The decision about a new request.
    package enum Arrival: Sendable, Equatable {
        /// The request is admitted.
        case goes
        /// The request waits under a number; an older request may be dropped for it.
        case waits(UInt64, dropping: UInt64?)
        /// The queue is full.
        case isRefused
        /// The request would be admitted too late for its deadline.
        case isHopeless
    }

    private let queue: LoadQueue
    private var queued = WaitingQueue()
    private var limit: AdaptiveLimit
    private(set) package var inFlight = 0
    private var holding = HoldTimes()
    private var time = SteadyTime()

    package init(_ limit: ConcurrencyLimiter.Limit, _ queue: LoadQueue) {
        self.limit = AdaptiveLimit(limit)
        self.queue = queue
    }

    package var waiting: Int { queued.count }
    package var currentLimit: Int { limit.current }
    var isInUse: Bool { inFlight > 0 || !queued.isEmpty }

    /// - Parameters:
    ///   - remaining: The remaining time of the call; nil without a limit. In nanoseconds, as `now`.
    package mutating func arrive(_ priority: RequestOptions.Priority, remaining: Int64?, now moment: Int64) -> Arrival {
        let now = time.at(moment)
        let hasPlace = inFlight < limit.current && queued.isEmpty
        if let remaining, queue.shedsLateCalls {
            let ahead = hasPlace ? 0 : queued.ahead(of: priority) + 1
            if let least = holding.leastTime(behind: ahead, of: limit.current, now), least > remaining {
                return .isHopeless
            }
        }
        if hasPlace {
            inFlight += 1
            return .goes
        }
        guard queued.count >= queue.capacity else { return .waits(queued.join(priority), dropping: nil) }
        guard queue.dropsOldest, let dropped = queued.dropOldest(below: priority) else { return .isRefused }
        return .waits(queued.join(priority), dropping: dropped)
    }

    /// Removes a request from the queue.
    /// - Returns: False if it was already admitted or dropped.
    package mutating func leave(_ number: UInt64) -> Bool { queued.leave(number) }

    /// Records the head of a response, or a failure that shows the state of the server.
    package mutating func take(_ sample: AdaptiveLimit.Sample, now moment: Int64) {
        let now = time.at(moment)
        limit.take(sample, inFlight: inFlight, now: now)
        if !sample.isOverload { holding.noteAnswer(sample.latency, now) }
    }

    /// Records the end of a request.
    /// - Parameter held: The time from its admission; nil if it is not meaningful.
    package mutating func end(held: Int64?) {
        inFlight -= 1
        if let held { holding.noteEnd(held) }
    }

    /// The next request to admit; called until it is nil after each end and each sample.
    package mutating func next() -> UInt64? {
        guard inFlight < limit.current, let number = queued.next() else { return nil }
        inFlight += 1
        return number
    }
}

/// The durations of requests, for an estimate that is too short rather than too long.
private struct HoldTimes: Sendable {
    private static let sampleCount = 10
    /// The quickest response is forgotten after one to two of these periods.
    private static let period: Int64 = 10_000_000_000

    private var average = 0.0
    private var count = 0
    private var quickest: (current: Int64, previous: Int64) = (.max, .max)
    private var periodEnd: Int64 = .min

    mutating func noteEnd(_ held: Int64) {
        count += 1
        average += (Double(held) - average) / Double(min(count, 50))
    }

    mutating func noteAnswer(_ latency: Int64, _ now: Int64) {
        turn(now)
        quickest.current = min(quickest.current, latency)
    }

    private mutating func turn(_ now: Int64) {
        guard now >= periodEnd else { return }
        // After an idle period both samples are outdated.
        let isFresh = periodEnd > .min && now &- periodEnd < Self.period
        quickest = (.max, isFresh ? quickest.current : .max)
        periodEnd = now &+ Self.period
    }

    /// The shortest time that a new request behind `ahead` others takes; nil with too few samples.
    mutating func leastTime(behind ahead: Int, of places: Int, _ now: Int64) -> Int64? {
        turn(now)
        let answer = min(quickest.current, quickest.previous)
        guard answer < .max, count >= Self.sampleCount else { return nil }
        let wait = Double(ahead) * average / Double(places)
        return min(answer, Int64.max / 2) + Int64(min(wait, 1e18))
    }
}
