internal import HTTPTypes

/// Limits the number of concurrent requests; further requests wait in a bounded queue.
///
/// A request counts from its admission to the end of its response's body. With a transport that is not a session, it
/// counts up to the head. Waiting requests are admitted by ``RequestOptions/priority``, and in order of arrival among
/// equals. The limit is fixed, or adapts to the server: see ``ConcurrencyLimiter/Limit``.
///
/// A WebSocket, like every connection that was switched to another protocol, counts until it is closed, which may take
/// hours. A separate limit, by a ``LoadScope/tag``, keeps such connections from blocking requests.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     ConcurrencyLimiter(.fixed(32))                               // for each origin
///     ConcurrencyLimiter(.fixed(256), per: .all, queue: .none)     // and in all
/// }
/// ```
///
/// The link belongs behind the standard chain: then a response of the cache, and a wait between two attempts, use no
/// slot. Of several limiters the one with the narrowest scope comes first: then a request that waits for one origin
/// does not occupy a slot of the wider scope. With ``LoadScope/tag`` the limiter is a bulkhead. Copies of a link share
/// their slots.
///
/// A request that gets no slot fails without being sent. The error is ``ErrorCode/overloaded`` if the queue is full or
/// the wait took too long. It is ``ErrorCode/deadlineUnreachable`` if the call's ``RequestOptions/totalTimeout`` would
/// expire before a response could arrive. ``Retry`` does not retry these errors, as that would add to the load.
public struct ConcurrencyLimiter: CurlewMiddleware {
    private let core: Core

    /// - Parameters:
    ///   - limit: The number of concurrent requests of a group.
    ///   - scope: The requests that share the limit.
    ///   - queue: The queue in which further requests wait.
    ///   - clock: The clock that measures waits and responses.
    public init(
        _ limit: Limit = .additive(), per scope: LoadScope = .origin, queue: LoadQueue = LoadQueue(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = Core(limit, scope, queue, Timekeeper(clock))
    }

    /// The concurrent and waiting requests and the limit of each remembered group, by the group's name. A name is an
    /// origin such as `https://api.example.com:443`, a tag, or the result of a closure.
    public var figures: [String: Figures] { core.figures }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let arrival = core.arrive(request)
        if case .isUnlimited = arrival { return try await next(request) }
        var request = request
        var waited: Int64 = 0
        let ticket: Ticket
        if case .goes(let own) = arrival {
            ticket = own
        } else {
            (ticket, waited) = try await core.wait(&request, arrival)
        }
        request.watchers.append(ticket)
        do {
            var response = try await next(request)
            ticket.answered(LoadOutcome(response), by: response.exchange?.number, innerWait: response.turnWait)
            if waited > 0 { response.turnWait += waited }
            return response
        } catch {
            ticket.answered(LoadOutcome(error), by: nil, innerWait: 0)
            throw error
        }
    }

    /// The largest number of concurrent requests.
    public struct Limit: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case fixed
            case additive(ClosedRange<Int>)
            case gradient(ClosedRange<Int>)
        }

        let kind: Kind
        let initial: Int

        /// The largest limit: a billion. Larger values are reduced to it.
        public static let largest = 1_000_000_000

        /// A constant limit; at least 1.
        public static func fixed(_ count: Int) -> Limit {
            Limit(kind: .fixed, initial: clamp(count, 1...largest))
        }

        /// A limit that grows by one after as many good responses as the limit, and shrinks by a tenth when the server
        /// is overloaded. Overload is a response of 429, 503 or 504, a timeout, or a connection that is refused, fails
        /// or is lost.
        public static func additive(from initial: Int = 20, within bounds: ClosedRange<Int> = 1...200) -> Limit {
            Limit(kind: .additive(clamped(bounds)), initial: clamp(initial, bounds))
        }

        /// A limit that follows the latency, and so notices a slower server before it fails.
        ///
        /// It shrinks when responses take longer than one and a half times the average of the last hundreds, and
        /// otherwise grows. It shrinks by a fifth when the server is overloaded, in the sense of
        /// ``additive(from:within:)``. It suits servers whose responses take similar times.
        public static func gradient(from initial: Int = 20, within bounds: ClosedRange<Int> = 1...200) -> Limit {
            Limit(kind: .gradient(clamped(bounds)), initial: clamp(initial, bounds))
        }

        private static func clamped(_ bounds: ClosedRange<Int>) -> ClosedRange<Int> {
            min(max(1, bounds.lowerBound), largest)...min(max(1, bounds.upperBound), largest)
        }

        private static func clamp(_ count: Int, _ bounds: ClosedRange<Int>) -> Int {
            let bounds = clamped(bounds)
            return min(max(count, bounds.lowerBound), bounds.upperBound)
        }
    }

    /// The counters of one group.
    public struct Figures: Sendable, Hashable {
        /// The number of concurrent requests.
        public let inFlight: Int
        /// The number of requests that wait for a slot.
        public let waiting: Int
        /// The present limit on concurrent requests.
        public let limit: Int
    }
}

extension ConcurrencyLimiter {
    /// The shared state of copies of the link.
    final class Core: LoadCore {
        struct State: WaitingState {
            var machine: ConcurrencyMachine
            var turns = AwaitedTurns()

            // A verdict that its request has not received yet keeps the group.
            var isInUse: Bool { machine.isInUse || !turns.isEmpty }
            func isIdle(at now: Int64) -> Bool { !isInUse }
            mutating func leave(_ number: UInt64) -> Bool { machine.leave(number) }
        }

        private let limit: Limit
        private let scope: LoadScope
        let queue: LoadQueue
        let timekeeper: Timekeeper
        let groups: Guarded<LoadGroups<State>>

        init(_ limit: Limit, _ scope: LoadScope, _ queue: LoadQueue, _ timekeeper: Timekeeper) {
            self.limit = limit
            self.scope = scope
            self.queue = queue
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        var figures: [String: Figures] {
            groups.withLock { groups in
                // Names that are canonically equivalent in Unicode are the same key of a dictionary.
                Dictionary(
                    groups.all.map { name, state in
                        let machine = state.machine
                        let figures = Figures(
                            inFlight: machine.inFlight, waiting: machine.waiting, limit: machine.currentLimit)
                        return (name, figures)
                    }
                ) { first, _ in first }
            }
        }

        enum Arrival {
            case goes(Ticket)
            case waits(LoadGroup, UInt64, since: Int64)
            case isRefused(LoadGroup)
            case isHopeless(LoadGroup)
            case isUnlimited
        }

        /// Admits a request, queues it, or refuses it.
        func arrive(_ request: CurlewRequest) -> Arrival {
            let now = now
            let ownName = scope.ownName(of: request)
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                let group = groups.group(of: request, named: ownName, now: now) {
                    State(machine: ConcurrencyMachine(limit, queue))
                }
                guard let group else { return .isUnlimited }
                let arrival = groups[group].machine.arrive(
                    request.options.priority, remaining: request.remainingNanoseconds, now: now)
                switch arrival {
                case .goes: return .goes(Ticket(self, group, since: now))
                case .isRefused: return .isRefused(group)
                case .isHopeless: return .isHopeless(group)
                case .waits(let number, let dropped):
                    if let dropped { resumed.add(groups[group].turns.decide(dropped, .isDropped), .isDropped) }
                    groups[group].turns.open(number)
                    return .waits(group, number, since: now)
                }
            }
        }

        /// Waits for the admission of a request.
        /// - Returns: Its slot, and the time that it has waited, in nanoseconds.
        // The function is not inlined, because every waiting call would then reserve stack space for its variables.
        @inline(never)
        func wait(_ request: inout CurlewRequest, _ arrival: Arrival) async throws -> (Ticket, Int64) {
            switch arrival {
            case .goes(let ticket): return (ticket, 0)
            case .isRefused(let group):
                throw request.refusal(.overloaded, "\(queue.capacity) requests wait for their turns\(group.place)")
            case .isHopeless(let group):
                throw request.refusal(
                    .deadlineUnreachable, "the answer would come too late\(group.place), so nothing was sent")
            case .isUnlimited: throw request.refusal(.engineFailed, "a request without a limit has waited")
            case .waits(let group, let number, let start):
                _ = try await turn(of: number, in: group, request)
                // From here on the ticket releases the slot, even after an error.
                let ticket = Ticket(self, group, since: now)
                let waited = max(0, now - start)
                try request.shortenTotal(by: .nanoseconds(waited))
                return (ticket, waited)
            }
        }

        /// Changes the machine of a group, and resumes the requests that this admits.
        fileprivate func change(_ group: LoadGroup, _ body: (inout ConcurrencyMachine) -> Void) {
            var resumed = ResumedTurns()
            groups.withLock { groups in
                // The group may have been evicted between the end of the slot and a later sample.
                guard groups.holds(group) else { return }
                body(&groups[group].machine)
                while let number = groups[group].machine.next() {
                    resumed.add(groups[group].turns.decide(number, .goes(period: 0)), .goes(period: 0))
                }
            }
            resumed.resume()
        }
    }

    /// The slot of a request, held up to the end of its exchange.
    final class Ticket: ExchangeWatcher {
        private struct State {
            /// The exchange whose end is awaited, and exchanges that have ended before.
            var awaited: UInt64?
            var ended: [UInt64] = []
            var isOver = false

            /// - Returns: True if it was not over before.
            mutating func end() -> Bool {
                defer { isOver = true }
                return !isOver
            }
        }

        private let core: Core
        private let group: LoadGroup
        private let start: Int64
        private let state = Guarded(State())

        init(_ core: Core, _ group: LoadGroup, since start: Int64) {
            self.core = core
            self.group = group
            self.start = start
        }

        deinit {
            // A response that did not come from a session reports no end: release the slot here.
            if state.withLock({ $0.end() }) { core.change(group) { $0.end(held: nil) } }
        }

        /// Records the head of the response, or its failure.
        /// - Parameters:
        ///   - exchange: The number of the exchange of the response; nil if its end is not reported.
        ///   - innerWait: The time that inner links let the request wait.
        func answered(_ outcome: LoadOutcome, by exchange: UInt64?, innerWait: Int64) {
            let now = core.now
            let ends = state.withLock { state in
                guard let exchange, !state.ended.contains(exchange) else { return state.end() }
                state.awaited = exchange
                return false
            }
            guard ends || outcome != .saysNothing else { return }
            let held = max(0, now - start)
            core.change(group) { machine in
                if outcome != .saysNothing {
                    let latency = max(0, held - innerWait)
                    machine.take(.init(latency: latency, isOverload: outcome == .isOverload), now: now)
                }
                if ends { machine.end(held: held) }
            }
        }

        func ended(_ exchange: any ResponseExchange) {
            let exchange = exchange.number
            let ends = state.withLock { state in
                if state.awaited == exchange { return state.end() }
                if !state.isOver { state.ended.append(exchange) }
                return false
            }
            guard ends else { return }
            let held = max(0, core.now - start)
            core.change(group) { $0.end(held: held) }
        }
    }
}
