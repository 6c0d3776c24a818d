internal import HTTPTypes

/// Limits how many requests are sent in a time, and learns from what servers say about it.
///
/// A bucket of tokens for each group of requests holds a rate of your own. Whether there is one or not, the link heeds for all calls
/// that share it:
/// - 429, and 503 with Retry-After: nothing is sent before that time, an hour at most; after a 429 that names none, for one second, doubling up to
///   60 with each further one. Then one request goes, two more once it was answered well, and so on: those who wait do not come back
///   all at once. A 429 also halves a rate of your own, once a second at most; it comes back within ten seconds.
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
/// ``ErrorCode/overloaded``; nothing was sent then, and ``Retry`` does not repeat these. Copies of a link share their buckets.
public struct RequestRateLimiter: CurlewMiddleware {
    private let core: Core

    /// - Parameters:
    ///   - rate: The rate for each group; nil heeds only what servers say.
    ///   - scope: The requests that share the rate and what is learned.
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
        let group: Core.Group
        switch arrival {
        case .isUnlimited: return try await next(request)
        case .goes(let own): group = own
        default: group = try await core.wait(&request, arrival)
        }
        do {
            let response = try await next(request)
            core.take(response, in: group)
            return response
        } catch {
            core.take(error, in: group)
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
        /// `@unchecked Sendable`: its state is touched under the lock of the core alone.
        final class Group: LoadGroup, @unchecked Sendable {
            let name: String
            var machine: RateMachine
            var turns = AwaitedTurns()
            /// Waits for the time of the next turn.
            var pump: Task<Void, Never>?

            init(_ name: String, _ machine: RateMachine) {
                self.name = name
                self.machine = machine
            }

            func leave(_ number: UInt64) -> Bool {
                defer {
                    if machine.waiting == 0 {
                        pump?.cancel()
                        pump = nil
                    }
                }
                return machine.leave(number)
            }
        }

        /// What was learned meanwhile is seen after so long.
        private static let longestSleep: Int64 = 1_000_000_000

        private let rate: Rate?
        let queue: LoadQueue
        let timekeeper: Timekeeper
        let groups: Guarded<LoadGroups<Group>>

        init(_ rate: Rate?, _ scope: LoadScope, _ queue: LoadQueue, _ timekeeper: Timekeeper) {
            self.rate = rate
            self.queue = queue
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        var waiting: Int { groups.withLock { $0.all.reduce(0) { $0 + $1.group.machine.waiting } } }

        enum Arrival {
            case isUnlimited
            case goes(Group)
            case waits(Group, UInt64, since: Int64)
            case isRefused(Group)
            case isTooLate(Group, wait: Int64)
            case isHopeless(Group)
        }

        /// Lets a request go, lets it wait, or refuses it.
        func arrive(_ request: CurlewRequest) -> Arrival {
            let now = now
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                let group = groups.group(of: request, isIdle: { $0.machine.isIdle(at: now) }) {
                    Group($0, RateMachine(rate, queue, now: now))
                }
                guard let group else { return .isUnlimited }
                let arrival = group.machine.arrive(
                    request.options.priority, remaining: request.remainingNanoseconds, now: now)
                switch arrival {
                case .goes: return .goes(group)
                case .isRefused: return .isRefused(group)
                case .isTooLate(let wait): return .isTooLate(group, wait: wait)
                case .isHopeless: return .isHopeless(group)
                case .waits(let number, let dropped):
                    if let dropped { resumed.add(group.turns.decide(dropped, .isDropped), .isDropped) }
                    group.turns.open(number)
                    startPump(group)
                    return .waits(group, number, since: now)
                }
            }
        }

        /// Waits for the turn of a request that may not go yet.
        // Not inlined: every call would keep room for it in its frame while it waits.
        @inline(never)
        func wait(_ request: inout CurlewRequest, _ arrival: Arrival) async throws -> Group {
            switch arrival {
            case .goes(let group): return group
            case .isUnlimited: throw request.refusal(.engineFailed, "a request without a limit has waited")
            case .isRefused(let group):
                throw request.refusal(.overloaded, "\(queue.capacity) requests wait for their turns\(group.place)")
            case .isTooLate(let group, let wait):
                throw request.refusal(
                    .rateLimited,
                    "the rate of requests\(group.place) would let it wait for \(Duration.nanoseconds(wait))")
            case .isHopeless(let group):
                throw request.refusal(
                    .deadlineUnreachable, "its turn\(group.place) would come too late, so nothing was sent")
            case .waits(let group, let number, let start):
                try await turn(of: number, in: group, request)
                do {
                    try request.shortenTotal(by: .nanoseconds(now - start))
                } catch {
                    take(error, in: group)
                    throw error
                }
                return group
            }
        }

        func take(_ response: CurlewResponse, in group: Group) {
            var answer = RateMachine.Answer(status: response.status.code)
            // In most responses no field begins with what these begin with.
            if answer.status == 429 || answer.status == 503 { answer.retryAfter = RetryAfter.wait(response.fields) }
            answer.quota = ServerQuota(response.fields)
            take(answer, in: group)
        }

        func take(_ error: any Error, in group: Group) { take(RateMachine.Answer(status: 0), in: group) }

        private func take(_ answer: RateMachine.Answer, in group: Group) {
            let now = now
            var resumed = ResumedTurns()
            groups.withLock { _ in
                group.machine.take(answer, now: now)
                guard group.machine.waiting > 0 else { return }
                advance(group, now, &resumed)
                startPump(group)
            }
            resumed.resume()
        }

        private func advance(_ group: Group, _ now: Int64, _ resumed: inout ResumedTurns) {
            while let number = group.machine.next(at: now) { resumed.add(group.turns.decide(number, .goes), .goes) }
        }

        /// Under the lock.
        private func startPump(_ group: Group) {
            guard group.pump == nil, group.machine.waiting > 0, group.machine.nextTime(at: now) != nil else { return }
            group.pump = Task { [weak self] in
                while let sleep = self?.pump(group) {
                    guard let timekeeper = self?.timekeeper else { return }
                    do { try await timekeeper.sleep(for: .nanoseconds(sleep)) } catch { return }
                }
            }
        }

        /// Lets those go whose time has come.
        /// - Returns: The time until the next; nil if there is none to be waited for.
        private func pump(_ group: Group) -> Int64? {
            let now = now
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { _ in
                guard !Task.isCancelled else { return nil }
                advance(group, now, &resumed)
                guard group.machine.waiting > 0, let time = group.machine.nextTime(at: now) else {
                    group.pump = nil
                    return nil
                }
                return min(max(time - now, 1), Self.longestSleep)
            }
        }
    }
}
