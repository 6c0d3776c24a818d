internal import HTTPTypes

/// Stops sending to a server for a while when too many requests to it fail. Callers get an error at once, and the
/// server has time to recover.
///
/// Each group of requests has a circuit.
/// - It is *closed* while the server works.
/// - It *opens* when too many calls of the last ``Policy/window`` failed or were slow. Then no request is sent, and
///   callers get ``ErrorCode/circuitOpen``.
/// - It is *half-open* after ``Policy/firstWait``: ``Policy/probes`` calls are sent as probes. If all succeed it
///   closes; if one fails or is slow it opens again, for twice as long.
///
/// A probe without a head for 30 seconds counts as failed with the next call. The time is ``Policy/firstWait`` or
/// ``Policy/slowAfter`` if one of these is longer.
///
/// ```swift
/// let breaker = CircuitBreaker()
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     breaker
/// }
/// for await change in breaker.transitions { logger.warning("\(change.group): \(change.to)") }
/// ```
///
/// A failure is a response of 500, 502, 503 or 504, a missing or lost connection, a response that is not HTTP, or a
/// timeout. Requests that were cancelled, refused locally, or still waiting locally are ignored; every other response
/// is a success. ``judge`` can decide otherwise. The time of a call ends with the head, and excludes the waits of inner
/// links. A body that breaks off is not a failure.
///
/// The link belongs behind the standard chain, so that it sees every attempt, and no response of the cache. ``Retry``
/// does not retry requests that an open circuit refuses. A change of state is an event,
/// ``SessionEvent/Kind/circuitChanged``, of each session made with the link, and a metric of `RequestMetrics`. Copies
/// of a link share their circuits.
public struct CircuitBreaker: CurlewMiddleware {
    /// The conditions under which a circuit opens and closes.
    ///
    /// A value outside its bounds is replaced by the nearest valid one.
    public struct Policy: Sendable, Hashable {
        /// The share of failed calls at which the circuit opens. 0.5 by default.
        public var failureRate: Double
        /// The time to the head of a response beyond which a successful call is slow. nil, the default, disables slow
        /// calls.
        public var slowAfter: Duration?
        /// The share of slow or failed calls at which the circuit opens. 0.8 by default.
        public var slowRate: Double
        /// The number of calls in the window below which the circuit does not open. 20 by default, at least 1.
        public var minimumCalls: Int
        /// The time for which calls count. 10 seconds by default, at least a millisecond.
        public var window: Duration
        /// The duration of the first open state. 5 seconds by default. It doubles each time the probes fail.
        public var firstWait: Duration
        /// The longest duration of an open state. 60 seconds by default.
        public var longestWait: Duration
        /// The number of calls that are sent in the half-open state. 3 by default, at least 1.
        public var probes: Int

        public init(
            failureRate: Double = 0.5, slowAfter: Duration? = nil, slowRate: Double = 0.8, minimumCalls: Int = 20,
            window: Duration = .seconds(10), firstWait: Duration = .seconds(5), longestWait: Duration = .seconds(60),
            probes: Int = 3
        ) {
            self.failureRate = failureRate
            self.slowAfter = slowAfter
            self.slowRate = slowRate
            self.minimumCalls = minimumCalls
            self.window = window
            self.firstWait = firstWait
            self.longestWait = longestWait
            self.probes = probes
        }

        /// The policy with all values within their bounds.
        var inBounds: Policy {
            var policy = self
            policy.failureRate = min(max(failureRate, 0), 1)
            policy.slowRate = min(max(slowRate, 0), 1)
            policy.minimumCalls = max(1, minimumCalls)
            policy.window = max(.milliseconds(1), window)
            policy.firstWait = max(.zero, firstWait)
            policy.longestWait = max(.zero, longestWait)
            policy.probes = max(1, probes)
            return policy
        }
    }

    /// The verdict of a call on its server.
    public struct Judgement: Sendable, Hashable {
        let result: CircuitMachine.Result

        /// The server works.
        public static let success = Judgement(result: .success)
        /// The server fails.
        public static let failure = Judgement(result: .failure)
        /// The call does not count.
        public static let ignored = Judgement(result: .none)
    }

    /// Decides what a response or an error means for the circuit. If it is nil or returns nil, the rules decide.
    public var judge: (@Sendable (Result<CurlewResponse, any Error>) -> Judgement?)?
    let core: Core

    /// - Parameters:
    ///   - policy: The conditions under which a circuit opens and closes.
    ///   - scope: The requests that share a circuit.
    ///   - clock: The clock that measures windows and waits.
    public init(
        _ policy: Policy = Policy(), per scope: LoadScope = .origin, clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = Core(policy, scope, Timekeeper(clock))
    }

    /// The changes of state from now on. A listener that is more than 100 changes behind loses the oldest.
    public var transitions: AsyncStream<CircuitTransition> { core.broadcaster.listen() }

    /// The states of the remembered circuits, by the names of their groups. A circuit whose open time is over is
    /// reported as open until its next request.
    public var states: [String: CircuitTransition.State] { core.states }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard let pass = try core.enter(request) else { return try await next(request) }
        do {
            let response = try await next(request)
            core.leave(pass, request, judgement(of: response), innerWait: response.turnWait)
            return response
        } catch {
            core.leave(pass, request, judgement(of: error), innerWait: 0)
            throw error
        }
    }

    private func judgement(of response: CurlewResponse) -> CircuitMachine.Result {
        if let judge, let own = judge(.success(response)) { return own.result }
        switch response.status.code {
        case 500, 502, 503, 504: return .failure
        default: return .success
        }
    }

    private func judgement(of error: any Error) -> CircuitMachine.Result {
        if let judge, let own = judge(.failure(error)) { return own.result }
        guard let error = error as? CurlewError else { return .none }
        return error.code.isServersFailure && !error.isOfOwnWait ? .failure : .none
    }
}

extension ErrorCode {
    /// True if the error shows that a server does not work.
    fileprivate var isServersFailure: Bool {
        isTransient || self == .totalTimeout || self == .invalidResponse || self == .responseHeadTooLarge
    }
}

extension CircuitBreaker {
    /// The shared state of copies of the link.
    final class Core: Sendable {
        struct State: LoadState {
            var machine: CircuitMachine

            var isInUse: Bool { machine.isInUse }
            mutating func isIdle(at now: Int64) -> Bool { machine.isIdle(at: now) }
        }

        /// The permit of a call.
        struct Pass: Sendable {
            fileprivate let group: LoadGroup
            fileprivate let permit: CircuitMachine.Permit
            fileprivate let start: Int64
        }

        private struct Change: Sendable {
            let transition: CircuitTransition
            let request: CurlewRequest
        }

        private let policy: Policy
        private let scope: LoadScope
        private let timekeeper: Timekeeper
        private let groups: Guarded<LoadGroups<State>>
        let broadcaster = Broadcaster<CircuitTransition>(bufferSize: 100)
        private let publishers = Guarded<[CircuitPublisher]>([])
        /// The changes that are not published yet, in order: they are added under the lock of the groups.
        private let changes = Guarded<[Change]>([])
        /// Held while changes are published.
        private let turn = Lock()

        init(_ policy: Policy, _ scope: LoadScope, _ timekeeper: Timekeeper) {
            self.policy = policy
            self.scope = scope
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        deinit { broadcaster.finish() }

        private var now: Int64 { timekeeper.nanoseconds() }

        var states: [String: CircuitTransition.State] {
            groups.withLock { groups in
                // Names that are canonically equivalent in Unicode are the same key of a dictionary.
                Dictionary(groups.all.map { ($0.name, $0.state.machine.current) }) { first, _ in first }
            }
        }

        /// The number of publishers that still exist.
        var publisherCount: Int { publishers.withLock { $0.count { $0.isAlive() } } }

        /// Adds a publisher, replacing an earlier one with the same identity.
        func add(_ publisher: CircuitPublisher) {
            publishers.withLock { publishers in
                publishers.removeAll { !$0.isAlive() || $0.identifier == publisher.identifier }
                publishers.append(publisher)
            }
        }

        /// - Returns: nil for a request without a circuit.
        /// - Throws: ``CurlewError`` with ``ErrorCode/circuitOpen``.
        func enter(_ request: CurlewRequest) throws -> Pass? {
            let now = now
            let ownName = scope.ownName(of: request)
            var hasChanged = false
            let (pass, closed) = groups.withLock { groups -> (Pass?, (String, Int64)?) in
                let group = groups.group(of: request, named: ownName, now: now) {
                    State(machine: CircuitMachine(policy))
                }
                guard let group else { return (nil, nil) }
                let (permit, change) = groups[group].machine.ask(at: now)
                if let change {
                    hasChanged = true
                    note(change, group, request)
                }
                guard let permit else { return (nil, (group.name, groups[group].machine.wait(at: now))) }
                return (Pass(group: group, permit: permit, start: now), nil)
            }
            if hasChanged { publishChanges() }
            if let closed { throw refusal(of: request, closed.0, wait: closed.1) }
            return pass
        }

        // The function is not inlined, because every call would then reserve stack space for its variables.
        @inline(never)
        private func refusal(of request: CurlewRequest, _ name: String, wait: Int64) -> CurlewError {
            let circuit = name.isEmpty ? "the circuit" : "the circuit of \(name)"
            let when =
                wait > 0
                ? "is open for another \(Duration.nanoseconds(wait).text)" : "waits for the results of its probes"
            return request.refusal(.circuitOpen, "\(circuit) \(when), so nothing was sent")
        }

        func leave(_ pass: Pass, _ request: CurlewRequest, _ result: CircuitMachine.Result, innerWait: Int64) {
            let now = now
            let hasChanged = groups.withLock { groups in
                let duration = max(0, now - pass.start - innerWait)
                let change = groups[pass.group].machine.take(result, pass.permit, duration: duration, at: now)
                guard let change else { return false }
                note(change, pass.group, request)
                return true
            }
            if hasChanged { publishChanges() }
        }

        /// Records a change. The caller holds the lock of the groups, so the changes keep their order.
        private func note(_ change: CircuitMachine.Change, _ group: LoadGroup, _ request: CurlewRequest) {
            let noted = Change(transition: CircuitTransition(group: group.name, change), request: request)
            changes.withLock { $0.append(noted) }
        }

        // The function is not inlined, because few calls change the state.
        @inline(never)
        private func publishChanges() {
            turn.withLock {
                for change in changes.withLock({ noted in
                    defer { noted = [] }
                    return noted
                }) {
                    broadcaster.publish(change.transition)
                    change.request.reportCircuit(change.transition)
                    for publisher in publishers.withLock({ $0 }) { publisher.publish(change.transition) }
                }
            }
        }
    }
}

extension CircuitTransition {
    fileprivate init(group: String, _ change: CircuitMachine.Change) {
        self.init(
            group: group, from: change.from, to: change.to, calls: change.counts.calls,
            failures: change.counts.failures, slowCalls: change.counts.slow, wait: .nanoseconds(change.wait))
    }
}

extension CircuitBreaker: CircuitPublishing {
    package func add(_ publisher: CircuitPublisher) { core.add(publisher) }
}
