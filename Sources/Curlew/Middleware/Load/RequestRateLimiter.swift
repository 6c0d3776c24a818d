internal import HTTPTypes

/// Limits how many requests are sent in a time, and learns from what servers say about it.
///
/// A bucket of tokens for each group of requests holds a rate of your own. With or without one, the link heeds the words of a server for all calls
/// of the group to its origin, and for no other origin's:
/// - 429, and 503 with Retry-After: nothing is sent before that time, an hour at most; after a 429 that names none, for one second, doubling up to
///   60 with each further one. Then one request goes, two more once it was answered well, and so on, so that those which wait do not come back
///   all at once. If no answer comes for 30 seconds, another goes. A 429 also halves a rate of your own towards that server, once a second at most;
///   it comes back within ten seconds.
/// - RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), RateLimit-Remaining and RateLimit-Reset, and these with `X-` in front:
///   as soon as nothing is left, requests wait for the reset. What cannot be understood says nothing.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     RequestRateLimiter(.perSecond(50, burst: 10))
/// }
/// ```
///
/// It stands behind the standard chain, so that each attempt counts, and the answer of a cache does not. Those that wait have their
/// turns by ``RequestOptions/priority``. Whoever would have to wait for longer than ``LoadQueue/timeout`` gets
/// ``ErrorCode/rateLimited`` at once, whoever has less time than the wait ``ErrorCode/deadlineUnreachable``, and where the queue is full
/// ``ErrorCode/overloaded``; nothing was sent then, and ``Retry`` does not repeat these. In a full queue a request for a server that has stopped
/// its requests leaves its place to one for another server. Copies of a link share their buckets. Of a group at most 1,000 servers are
/// remembered, those with requests under way or waiting aside.
public struct RequestRateLimiter: CurlewMiddleware {
    private let core: Core

    /// - Parameters:
    ///   - rate: The rate for each group; nil heeds only what servers say.
    ///   - scope: The requests that share the rate. The words of a server hold for its own requests alone, whatever the scope.
    ///   - queue: Where requests wait; a wait takes 30 seconds at most by default.
    ///   - clock: What measures the rate.
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

    /// A number of requests in a time.
    public struct Rate: Sendable, Hashable {
        /// The requests that may be sent at once after a pause; 1 at least.
        public let burst: Int
        /// The time for one request, in nanoseconds.
        let interval: Double

        /// - Parameters:
        ///   - count: How many requests there may be in the time. Nothing above 0 counts as one.
        ///   - time: The time: from a microsecond up to a day for each request.
        ///   - burst: The requests that may be sent at once after a pause; nil are those of a tenth of a second.
        public init(_ count: Double, per time: Duration, burst: Int? = nil) {
            let count = count > 0 && count.isFinite ? count : 1
            let nanoseconds = Double(max(.zero, time).nanosecondsClamped) / count
            interval = min(max(nanoseconds, 1_000), 86_400e9)
            self.burst = max(1, burst ?? Int(min(1e8 / interval, 100_000)))
        }

        /// So many requests a second.
        public static func perSecond(_ count: Double, burst: Int? = nil) -> Rate {
            Rate(count, per: .seconds(1), burst: burst)
        }

        /// So many requests a minute.
        public static func perMinute(_ count: Double, burst: Int? = nil) -> Rate {
            Rate(count, per: .seconds(60), burst: burst)
        }
    }
}

extension RequestRateLimiter {
    /// What copies of the link share.
    final class Core: LoadCore {
        struct State: WaitingState {
            var machine: RateMachine
            var turns = AwaitedTurns()
            /// Waits for the time of the next turn.
            var pump: Task<Void, Never>?

            var isInUse: Bool { machine.isInUse }
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

        /// What was learned meanwhile is seen after so long.
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
            /// The server, where a group may have several.
            let origin: String
            let period: Int
            /// In nanoseconds.
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

        /// Sends a request on, keeps it waiting, or refuses it.
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

        /// The server of a request; one name where a group has one server.
        private func origin(of request: CurlewRequest) -> String {
            if case .origin = scope.kind { "" } else { request.uri.origin }
        }

        /// Waits for the turn of a request that may not go yet.
        // Not inlined: every call would keep room for it in its frame while it waits.
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
                    "the rate of requests\(group.place) would keep it waiting for \(Duration.nanoseconds(wait))")
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

        /// No answer has come.
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

        /// Under the lock.
        private func startPump(_ group: LoadGroup, _ state: inout State, _ now: Int64) {
            guard state.pump == nil, state.machine.waiting > 0 else { return }
            state.pump = Task { [weak self] in
                while let sleep = self?.pump(group) {
                    guard let timekeeper = self?.timekeeper else { return }
                    // A clock that fails costs a turn of the loop, and no more.
                    if (try? await timekeeper.sleep(for: .nanoseconds(sleep))) == nil, Task.isCancelled { return }
                }
            }
        }

        /// Resumes the requests whose time has come.
        /// - Returns: The time until the next; nil if there is none to be waited for.
        private func pump(_ group: LoadGroup) -> Int64? {
            let now = now
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                // Whoever cancels has begun another, or there is nobody who waits.
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
