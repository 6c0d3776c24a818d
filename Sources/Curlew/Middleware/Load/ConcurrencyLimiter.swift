internal import HTTPTypes

/// Limits how many requests are under way at a time, and lets the others wait in a bounded queue.
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
        let ticket: Ticket
        if case .goes(let own) = arrival { ticket = own } else { ticket = try await core.wait(&request, arrival) }
        request.attemptObservers.append(ticket)
        do {
            let response = try await next(request)
            ticket.answered(LoadOutcome(response), by: response.exchange.map { ObjectIdentifier($0) })
            return response
        } catch {
            ticket.answered(LoadOutcome(error), by: nil)
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

        /// Always the same; 1 at least.
        public static func fixed(_ count: Int) -> Limit { Limit(kind: .fixed, initial: max(1, count)) }

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
            max(1, bounds.lowerBound)...max(1, bounds.upperBound)
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
        /// `@unchecked Sendable`: its state is touched under the lock of the core alone.
        final class Group: LoadGroup, @unchecked Sendable {
            let name: String
            var machine: ConcurrencyMachine
            var turns = AwaitedTurns()

            init(_ name: String, _ machine: ConcurrencyMachine) {
                self.name = name
                self.machine = machine
            }

            func leave(_ number: UInt64) -> Bool { machine.leave(number) }
        }

        private let limit: Limit
        let queue: LoadQueue
        let timekeeper: Timekeeper
        let groups: Guarded<LoadGroups<Group>>

        init(_ limit: Limit, _ scope: LoadScope, _ queue: LoadQueue, _ timekeeper: Timekeeper) {
            self.limit = limit
            self.queue = queue
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        var figures: [String: Figures] {
            groups.withLock { groups in
                Dictionary(
                    uniqueKeysWithValues: groups.all.map { name, group in
                        let machine = group.machine
                        let figures = Figures(
                            inFlight: machine.inFlight, waiting: machine.waiting, limit: machine.currentLimit)
                        return (name, figures)
                    })
            }
        }

        enum Arrival {
            case goes(Ticket)
            case waits(Group, UInt64, since: Int64)
            case isRefused(Group)
            case isHopeless(Group)
            case isUnlimited
        }

        /// Gives a request a place, lets it wait for one, or refuses it.
        func arrive(_ request: CurlewRequest) -> Arrival {
            let now = now
            var resumed = ResumedTurns()
            defer { resumed.resume() }
            return groups.withLock { groups in
                let group = groups.group(of: request, isIdle: { $0.machine.isIdle }) {
                    Group($0, ConcurrencyMachine(limit, queue))
                }
                guard let group else { return .isUnlimited }
                let arrival = group.machine.arrive(
                    request.options.priority, remaining: request.remainingNanoseconds, now: now)
                switch arrival {
                case .goes: return .goes(Ticket(self, group, since: now))
                case .isRefused: return .isRefused(group)
                case .isHopeless: return .isHopeless(group)
                case .waits(let number, let dropped):
                    if let dropped { resumed.add(group.turns.decide(dropped, .isDropped), .isDropped) }
                    group.turns.open(number)
                    return .waits(group, number, since: now)
                }
            }
        }

        /// Waits for the turn of a request that has no place yet.
        // Not inlined: every call would keep room for it in its frame while it waits.
        @inline(never)
        func wait(_ request: inout CurlewRequest, _ arrival: Arrival) async throws -> Ticket {
            switch arrival {
            case .goes(let ticket): return ticket
            case .isRefused(let group):
                throw request.refusal(.overloaded, "\(queue.capacity) requests wait for their turns\(group.place)")
            case .isHopeless(let group):
                throw request.refusal(
                    .deadlineUnreachable, "the answer would come too late\(group.place), so nothing was sent")
            case .isUnlimited: throw request.refusal(.engineFailed, "a request without a limit has waited")
            case .waits(let group, let number, let start):
                try await turn(of: number, in: group, request)
                // From here on the place is given back whatever happens.
                let ticket = Ticket(self, group, since: now)
                try request.shortenTotal(by: .nanoseconds(now - start))
                return ticket
            }
        }

        /// Lets those go whose turns have come. Under the lock.
        private func advance(_ group: Group, _ resumed: inout ResumedTurns) {
            while let number = group.machine.next() { resumed.add(group.turns.decide(number, .goes), .goes) }
        }

        /// Changes what a ticket stands for, under the lock, and lets those go whose turns have come by that.
        fileprivate func change(_ group: Group, _ body: () -> Void) {
            var resumed = ResumedTurns()
            groups.withLock { _ in
                body()
                advance(group, &resumed)
            }
            resumed.resume()
        }
    }

    /// A request's place among those under way, to the end of its exchange.
    ///
    /// `@unchecked Sendable`: what changes is touched under the lock of the link's core alone.
    final class Ticket: AttemptObserver, @unchecked Sendable {
        private let core: Core
        private let group: Core.Group
        private let start: Int64
        /// The exchange whose end is waited for, and those that have ended before.
        private var awaited: ObjectIdentifier?
        private var ended: [ObjectIdentifier] = []
        private var isOver = false

        init(_ core: Core, _ group: Core.Group, since start: Int64) {
            self.core = core
            self.group = group
            self.start = start
        }

        deinit {
            // Nobody is left who could notify it of an end: the response came by another way than a session.
            if !isOver { core.change(group) { group.machine.end(held: nil) } }
        }

        /// The head of the response has come, or there will be none.
        /// - Parameter exchange: What brought the response; nil if its end is not known.
        func answered(_ outcome: LoadOutcome, by exchange: ObjectIdentifier?) {
            let now = core.now
            core.change(group) {
                if outcome != .saysNothing {
                    let sample = AdaptiveLimit.Sample(latency: now - start, isOverload: outcome == .isOverload)
                    group.machine.take(sample, now: now)
                }
                if let exchange, !ended.contains(exchange) { awaited = exchange } else { end(now) }
            }
        }

        func ended(_ exchange: ObjectIdentifier) {
            let now = core.now
            core.change(group) {
                if awaited == exchange { end(now) } else if !isOver { ended.append(exchange) }
            }
        }

        private func end(_ now: Int64) {
            guard !isOver else { return }
            isOver = true
            group.machine.end(held: now - start)
        }
    }
}
