internal import HTTPTypes

/// Limits the rate of requests, and respects the limits that servers announce.
///
/// Each group of requests has a bucket of tokens for your rate. With or without a rate, the link respects the limits of
/// a server, for all calls of the group to its origin and for no other origin:
/// - 429, and 503 with Retry-After: no request is sent before that time, at most an hour. After a 429 without a time
///   the wait is one second, doubling up to 60 with each further 429.
/// - After the wait, one request is sent, two more after its good response, and so on, so that waiting requests are not
///   sent all at once. If no response comes for 30 seconds, another request is sent.
/// - A 429 also halves your rate towards that server, at most once a second. The rate recovers within ten seconds.
/// - RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), RateLimit-Remaining and RateLimit-Reset,
///   and these with the prefix `X-`: when no request remains, requests wait for the reset. Unreadable fields are
///   ignored.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     RequestRateLimiter(.perSecond(50, burst: 10))
/// }
/// ```
///
/// The link belongs behind the standard chain: each attempt counts, and a response of the cache does not. Waiting
/// requests are admitted by ``RequestOptions/priority``.
///
/// A request fails at once, without being sent, in these cases:
/// - ``ErrorCode/rateLimited``: the wait would exceed ``LoadQueue/timeout``.
/// - ``ErrorCode/deadlineUnreachable``: the call would expire before the end of the wait.
/// - ``ErrorCode/overloaded``: the queue is full.
///
/// ``Retry`` does not retry these errors. In a full queue, a request for a server that has stopped its requests makes
/// room for one to another server. Copies of a link share their buckets. A group remembers at most 1,000 servers,
/// besides those with running or waiting requests.
public struct RequestRateLimiter: CurlewMiddleware {
    private let core: Core

    /// - Parameters:
    ///   - rate: The rate for each group; with nil only the servers' limits apply.
    ///   - scope: The requests that share the rate. The limits of a server apply to its own requests, whatever the
    ///     scope.
    ///   - queue: The queue in which requests wait; by default for at most 30 seconds.
    ///   - clock: The clock that measures the rate.
    public init(
        _ rate: Rate? = nil, per scope: LoadScope = .origin, queue: LoadQueue = LoadQueue(timeout: .seconds(30)),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = Core(rate, scope, queue, Timekeeper(clock))
    }

    /// The number of requests that wait for their turns.
    public var waiting: Int { core.waiting }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let arrival = core.arrive(request)
        var request = request
        let turn: Core.Turn
        switch arrival {
        case .isUnlimited: return try await next(request)
        case .goes(let own): turn = own
        default: turn = try await core.wait(&request, arrival)
        }
        do {
            var response = try await next(request)
            core.take(response, of: turn)
            if turn.waited > 0 { response.turnWait += turn.waited }
            return response
        } catch {
            core.takeFailure(of: turn)
            throw error
        }
    }

    /// A number of requests per unit of time.
    public struct Rate: Sendable, Hashable {
        /// The number of requests that may be sent at once after a pause; at least 1.
        public let burst: Int
        /// The time for one request, in nanoseconds.
        let interval: Double

        /// - Parameters:
        ///   - count: The number of requests in the time. A value that is not above 0, or not finite, counts as one.
        ///   - time: The time. The resulting interval between requests is limited to the range from a microsecond to a
        ///     day.
        ///   - burst: The number of requests that may be sent at once after a pause. nil selects the number of requests
        ///     in a tenth of a second.
        public init(_ count: Double, per time: Duration, burst: Int? = nil) {
            let count = count > 0 && count.isFinite ? count : 1
            let nanoseconds = Double(max(.zero, time).nanosecondsClamped) / count
            interval = min(max(nanoseconds, 1_000), 86_400e9)
            self.burst = max(1, burst ?? Int(min(1e8 / interval, 100_000)))
        }

        /// A rate in requests a second.
        public static func perSecond(_ count: Double, burst: Int? = nil) -> Rate {
            Rate(count, per: .seconds(1), burst: burst)
        }

        /// A rate in requests a minute.
        public static func perMinute(_ count: Double, burst: Int? = nil) -> Rate {
            Rate(count, per: .seconds(60), burst: burst)
        }
    }
}

extension RequestRateLimiter {
    /// The shared state of copies of the link.
    final class Core: LoadCore {
        struct State: WaitingState {
            var machine: RateMachine
            var turns = AwaitedTurns()
            /// The task that waits for the time of the next turn.
            var pump: Task<Void, Never>?

            // A verdict that its request has not received yet keeps the group.
            var isInUse: Bool { machine.isInUse || !turns.isEmpty }
            mutating func isIdle(at now: Int64) -> Bool { machine.isIdle(at: now) }

            mutating func leave(_ number: UInt64) -> Bool {
                let hasWaited = machine.leave(number)
                if machine.waiting == 0 {
                    pump?.cancel()
                    pump = nil
                }
                return hasWaited
            }
        }

        /// The longest sleep: limits learned meanwhile take effect after it.
        private static let longestSleep: Int64 = 1_000_000_000

        private let rate: Rate?
        private let scope: LoadScope
        let queue: LoadQueue
        let timekeeper: Timekeeper
        let groups: Guarded<LoadGroups<State>>

        init(_ rate: Rate?, _ scope: LoadScope, _ queue: LoadQueue, _ timekeeper: Timekeeper) {
            self.rate = rate
            self.scope = scope
            self.queue = queue
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        var waiting: Int { groups.withLock { $0.all.reduce(0) { $0 + $1.state.machine.waiting } } }

        /// The turn of a request.
        struct Turn: Sendable {
            let group: LoadGroup
            /// The server, if a group may have several; otherwise empty.
            let origin: String
            let period: Int
            /// The time that the request has waited, in nanoseconds.
            var waited: Int64 = 0
        }

        enum Arrival {
            case isUnlimited
            case goes(Turn)
            case waits(LoadGroup, UInt64, since: Int64)
            case isRefused(LoadGroup)
            case isTooLate(LoadGroup, wait: Int64)
            case isHopeless(LoadGroup)
        }

        /// Admits a request, queues it, or refuses it.
        func arrive(_ request: CurlewRequest) -> Arrival {
            let now = now
            let ownName = scope.ownName(of: request)
            let origin = origin(of: request)
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                let group = groups.group(of: request, named: ownName, now: now) {
                    State(machine: RateMachine(rate, queue, now: now))
                }
                guard let group else { return .isUnlimited }
                let arrival = groups[group].machine.arrive(
                    request.options.priority, at: origin, remaining: request.remainingNanoseconds, now: now)
                switch arrival {
                case .goes(let period): return .goes(Turn(group: group, origin: origin, period: period))
                case .isRefused: return .isRefused(group)
                case .isTooLate(let wait): return .isTooLate(group, wait: wait)
                case .isHopeless: return .isHopeless(group)
                case .waits(let number, let dropped):
                    if let dropped { resumed.add(groups[group].turns.decide(dropped, .isDropped), .isDropped) }
                    groups[group].turns.open(number)
                    startPump(group, &groups[group], now)
                    return .waits(group, number, since: now)
                }
            }
        }

        /// The server of a request; the empty name if each group has only one server.
        private func origin(of request: CurlewRequest) -> String {
            if case .origin = scope.kind { "" } else { request.uri.origin }
        }

        /// Waits for the admission of a request.
        // The function is not inlined, because every waiting call would then reserve stack space for its variables.
        @inline(never)
        func wait(_ request: inout CurlewRequest, _ arrival: Arrival) async throws -> Turn {
            switch arrival {
            case .goes(let turn): return turn
            case .isUnlimited: throw request.refusal(.engineFailed, "a request without a limit has waited")
            case .isRefused(let group):
                throw request.refusal(.overloaded, "\(queue.capacity) requests wait for their turns\(group.place)")
            case .isTooLate(let group, let wait):
                throw request.refusal(
                    .rateLimited,
                    "the rate of requests\(group.place) would keep it waiting for \(Duration.nanoseconds(wait).text)")
            case .isHopeless(let group):
                throw request.refusal(
                    .deadlineUnreachable, "its turn\(group.place) would come too late, so nothing was sent")
            case .waits(let group, let number, let start):
                let period = try await turn(of: number, in: group, request)
                let turn = Turn(
                    group: group, origin: origin(of: request), period: period, waited: max(0, now - start))
                do {
                    try request.shortenTotal(by: .nanoseconds(turn.waited))
                } catch {
                    takeFailure(of: turn)
                    throw error
                }
                return turn
            }
        }

        func take(_ response: CurlewResponse, of turn: Turn) {
            var answer = RateMachine.Answer(status: response.status.code)
            if answer.status == 429 || answer.status == 503 { answer.retryAfter = RetryAfter.wait(response.fields) }
            answer.quota = ServerQuota(response.fields)
            take(answer, of: turn)
        }

        /// Records a request without a response.
        func takeFailure(of turn: Turn) { take(RateMachine.Answer(status: 0), of: turn) }

        private func take(_ answer: RateMachine.Answer, of turn: Turn) {
            let now = now
            var resumed = ResumedTurns()
            groups.withLock { groups in
                groups[turn.group].machine.take(answer, from: turn.origin, of: turn.period, now: now)
                guard groups[turn.group].machine.waiting > 0 else { return }
                advance(&groups[turn.group], now, &resumed)
                guard groups[turn.group].machine.waiting > 0 else {
                    groups[turn.group].pump?.cancel()
                    groups[turn.group].pump = nil
                    return
                }
                startPump(turn.group, &groups[turn.group], now)
            }
            resumed.resume()
        }

        private func advance(_ state: inout State, _ now: Int64, _ resumed: inout ResumedTurns) {
            while let (number, period) = state.machine.next(at: now) {
                resumed.add(state.turns.decide(number, .goes(period: period)), .goes(period: period))
            }
        }

        /// Starts the pump if requests wait. The caller holds the lock.
        private func startPump(_ group: LoadGroup, _ state: inout State, _ now: Int64) {
            guard state.pump == nil, state.machine.waiting > 0 else { return }
            state.pump = Task { [weak self] in
                while let sleep = self?.pump(group) {
                    guard let timekeeper = self?.timekeeper else { return }
                    do {
                        try await timekeeper.sleep(for: .nanoseconds(sleep))
                    } catch {
                        // A clock that fails would repeat the loop without a pause. A cancellation ends the loop.
                        guard !Task.isCancelled else { return }
                        try? await ContinuousClock().sleep(for: .nanoseconds(sleep))
                    }
                }
            }
        }

        /// Admits the requests whose time has come.
        /// - Returns: The time until the next turn; nil if no request waits.
        private func pump(_ group: LoadGroup) -> Int64? {
            let now = now
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                // After a cancellation another pump runs, or no request waits.
                guard !Task.isCancelled, groups.holds(group) else { return nil }
                advance(&groups[group], now, &resumed)
                guard groups[group].machine.waiting > 0 else {
                    groups[group].pump = nil
                    return nil
                }
                return min(max(groups[group].machine.wait(at: now), 1), Self.longestSleep)
            }
        }
    }
}
