internal import HTTPTypes

/// Limits how many requests are under way at a time; the others wait in a bounded queue.
///
/// A request is under way from when it has its turn to the end of its response's body; over a transport that is no session, to the head.
/// Those that wait have their turns by ``RequestOptions/priority``, and among equals in the order of their arrival. The limit is
/// fixed, or follows the server: see ``ConcurrencyLimiter/Limit``.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     ConcurrencyLimiter(.fixed(32))                               // for each origin
///     ConcurrencyLimiter(.fixed(256), per: .all, queue: .none)     // and in all
/// }
/// ```
///
/// It stands behind the standard chain, so that an answer of the cache takes no place and a wait between two attempts none either. Of
/// several the narrowest scope comes first: who waits for one origin then takes nobody's place in the wider one. With
/// ``LoadScope/tag`` it is a bulkhead. Copies of a link share their places.
///
/// Whoever has no place gets an error, and nothing was sent: ``ErrorCode/overloaded`` if the queue is full or the wait in it took too
/// long, ``ErrorCode/deadlineUnreachable`` if the call's ``RequestOptions/totalTimeout`` would be over before an answer could come.
/// ``Retry`` does not repeat these, as that would add to the load.
public struct ConcurrencyLimiter: CurlewMiddleware {
    private let core: Core

    /// - Parameters:
    ///   - limit: How many requests of a group are under way at a time.
    ///   - scope: The requests that share the limit.
    ///   - queue: Where the others wait.
    ///   - clock: What measures waits and answers.
    public init(
        _ limit: Limit = .additive(), per scope: LoadScope = .origin, queue: LoadQueue = LoadQueue(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = Core(limit, scope, queue, Timekeeper(clock))
    }

    /// What is under way, waits and is allowed in each group that is remembered, by the group's name: an origin such as
    /// `https://api.example.com:443`, a tag, or what a closure named.
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

    /// The number of requests that may be under way at a time.
    public struct Limit: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case fixed
            case additive(ClosedRange<Int>)
            case gradient(ClosedRange<Int>)
        }

        let kind: Kind
        let initial: Int

        /// The largest limit: a billion. Larger ones count as this.
        public static let largest = 1_000_000_000

        /// Always the same; 1 at least.
        public static func fixed(_ count: Int) -> Limit {
            Limit(kind: .fixed, initial: clamp(count, 1...largest))
        }

        /// One more after as many good answers as the limit, a tenth less when the server has too much to do: it answers 429, 503 or 504,
        /// or not in time, or takes no connection.
        public static func additive(from initial: Int = 20, within bounds: ClosedRange<Int> = 1...200) -> Limit {
            Limit(kind: .additive(clamped(bounds)), initial: clamp(initial, bounds))
        }

        /// Less as soon as answers take longer than one and a half times what they took over the last hundreds, more while they do not: it
        /// notices that a server gets slower before it fails. A fifth less when it has too much to do, as with ``additive(from:within:)``.
        /// For servers whose answers mostly take alike.
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

    /// What a group has under way.
    public struct Figures: Sendable, Hashable {
        /// The requests under way.
        public let inFlight: Int
        /// The requests that wait for their turns.
        public let waiting: Int
        /// The most that may be under way, as it stands.
        public let limit: Int
    }
}

extension ConcurrencyLimiter {
    /// What copies of the link share.
    final class Core: LoadCore {
        struct State: WaitingState {
            var machine: ConcurrencyMachine
            var turns = AwaitedTurns()

            var isInUse: Bool { machine.isInUse }
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
                // Names that are equivalent in Unicode are one key of a dictionary.
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

        /// Gives a request a place, lets it wait for one, or refuses it.
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

        /// Waits for the turn of a request that has no place yet.
        /// - Returns: Its place, and the time that it has waited, in nanoseconds.
        // Not inlined: every call would keep room for it in its frame while it waits.
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
                // From here on the place is given back whatever happens.
                let ticket = Ticket(self, group, since: now)
                let waited = max(0, now - start)
                try request.shortenTotal(by: .nanoseconds(waited))
                return (ticket, waited)
            }
        }

        /// Changes the machine of a group, and resumes the requests whose turns have come by that.
        fileprivate func change(_ group: LoadGroup, _ body: (inout ConcurrencyMachine) -> Void) {
            var resumed = ResumedTurns()
            groups.withLock { groups in
                // Where a sample comes after the end of its place, the group may have been forgotten between the two.
                guard groups.holds(group) else { return }
                body(&groups[group].machine)
                while let number = groups[group].machine.next() {
                    resumed.add(groups[group].turns.decide(number, .goes(period: 0)), .goes(period: 0))
                }
            }
            resumed.resume()
        }
    }

    /// A request's place among those under way, to the end of its exchange.
    final class Ticket: ExchangeWatcher {
        private struct State {
            /// The exchange whose end is waited for, and those that have ended before.
            var awaited: UInt64?
            var ended: [UInt64] = []
            var isOver = false

            /// - Returns: Whether it was not over before.
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
            // Nobody is left who could notify it of an end: the response came by another way than a session.
            if state.withLock({ $0.end() }) { core.change(group) { $0.end(held: nil) } }
        }

        /// The head of the response has come, or there will be none.
        /// - Parameters:
        ///   - exchange: The number of the exchange that brought the response; nil if its end is not known.
        ///   - innerWait: The time for which links further in let the request wait.
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
