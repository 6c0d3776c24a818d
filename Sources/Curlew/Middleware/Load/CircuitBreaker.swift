internal import HTTPTypes

/// Stops sending to a server for a while when too many requests to it fail, so that callers learn so at once and the server has time to
/// recover.
///
/// For each group of requests there is a circuit. It is *closed* as long as all is well. When of the calls of the last
/// ``Policy/window`` too many failed, or were slow, it *opens*: nothing is sent, and callers get ``ErrorCode/circuitOpen``. After
/// ``Policy/firstWait`` it is *half-open*: ``Policy/probes`` calls are sent. If all go well it closes; if one fails or is slow it opens again, for
/// twice as long. A probe without a head for 30 seconds, or for ``Policy/firstWait`` or ``Policy/slowAfter`` where that is longer, counts as failed
/// with the next call.
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
/// A failure is an answer of 500, 502, 503 or 504, a lack of connection, a connection that is lost, an answer that is not HTTP, and a timeout. A
/// request that was cancelled, refused on this side, or still waited for its turn here says nothing, and every other answer is a success;
/// ``judge`` decides otherwise. A call's time is that to the head, without the waits of links further in; a body that breaks off is no
/// failure here.
///
/// It stands behind the standard chain, so that it sees every attempt, and no answer of a cache. ``Retry`` does not repeat what an open
/// circuit refuses. A change is an event, ``SessionEvent/Kind/circuitChanged``, of each session made with the link, and a metric of
/// `RequestMetrics`. Copies of a link share their circuits.
public struct CircuitBreaker: CurlewMiddleware {
    /// When a circuit opens, and how it closes.
    ///
    /// What is outside of its bounds counts as the nearest that is not.
    public struct Policy: Sendable, Hashable {
        /// The part of calls that have to fail. 0.5 by default.
        public var failureRate: Double
        /// The time beyond which a successful call is slow: to the head of its response. nil, the default, knows no slow calls.
        public var slowAfter: Duration?
        /// The part of calls that have to be slow or to fail. 0.8 by default.
        public var slowRate: Double
        /// The least number of calls in the window that say anything. 20 by default, 1 at least.
        public var minimumCalls: Int
        /// The time for which calls count. 10 seconds by default, a millisecond at least.
        public var window: Duration
        /// The time for which it is open first. 5 seconds by default. It doubles whenever the probes fail.
        public var firstWait: Duration
        /// The longest time for which it is open. 60 seconds by default.
        public var longestWait: Duration
        /// The number of calls that are sent while it is half-open. 3 by default, 1 at least.
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

        /// The same within its bounds.
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

    /// What a call says about its server.
    public struct Judgement: Sendable, Hashable {
        let result: CircuitMachine.Result

        /// The server is well.
        public static let success = Judgement(result: .success)
        /// It is not.
        public static let failure = Judgement(result: .failure)
        /// Nothing.
        public static let ignored = Judgement(result: .none)
    }

    /// Decides what a response or an error says about the server; nil, also as its result, leaves it to the rules.
    public var judge: (@Sendable (Result<CurlewResponse, any Error>) -> Judgement?)?
    let core: Core

    /// - Parameters:
    ///   - policy: When a circuit opens, and how it closes.
    ///   - scope: The requests that share a circuit.
    ///   - clock: What measures windows and waits.
    public init(
        _ policy: Policy = Policy(), per scope: LoadScope = .origin, clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = Core(policy, scope, Timekeeper(clock))
    }

    /// The changes of state from now on. A listener that is behind by more than 100 loses the oldest.
    public var transitions: AsyncStream<CircuitTransition> { core.broadcaster.listen() }

    /// The states of the circuits that are remembered, by the names of their groups. One whose time is over stays open until the next
    /// request.
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
    /// True if it says something about whether a server is well.
    fileprivate var isServersFailure: Bool {
        isTransient || self == .totalTimeout || self == .invalidResponse || self == .responseHeadTooLarge
    }
}

extension CircuitBreaker {
    /// What copies of the link share.
    final class Core: Sendable {
        struct State: LoadState {
            var machine: CircuitMachine

            var isInUse: Bool { machine.isInUse }
            mutating func isIdle(at now: Int64) -> Bool { machine.isIdle(at: now) }
        }

        /// Somebody who publishes changes elsewhere.
        struct Publisher: Sendable {
            let identifier: ObjectIdentifier
            let isAlive: @Sendable () -> Bool
            let publish: @Sendable (CircuitTransition) -> Void
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
        private let publishers = Guarded<[Publisher]>([])
        /// Changes that are not published yet, in their order: they are added under the lock of the groups.
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
                // Names that are equivalent in Unicode are one key of a dictionary.
                Dictionary(groups.all.map { ($0.name, $0.state.machine.current) }) { first, _ in first }
            }
        }

        /// The number of those who publish changes and have not gone.
        var publisherCount: Int { publishers.withLock { $0.count { $0.isAlive() } } }

        /// Adds a publisher, in the place of an earlier one of the same identity.
        func add(_ publisher: Publisher) {
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

        // Not inlined: every call would keep room for it.
        @inline(never)
        private func refusal(of request: CurlewRequest, _ name: String, wait: Int64) -> CurlewError {
            let circuit = name.isEmpty ? "the circuit" : "the circuit of \(name)"
            let when =
                wait > 0 ? "is open for another \(Duration.nanoseconds(wait))" : "waits for what its probes bring"
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

        /// Under the lock of the groups, so that changes are noted in their order.
        private func note(_ change: CircuitMachine.Change, _ group: LoadGroup, _ request: CurlewRequest) {
            let noted = Change(transition: CircuitTransition(group: group.name, change), request: request)
            changes.withLock { $0.append(noted) }
        }

        // Not inlined: almost no call changes anything.
        @inline(never)
        private func publishChanges() {
            turn.withLock {
                for change in changes.withLock({ noted in
                    defer { noted = [] }
                    return noted
                }) {
                    broadcaster.publish(change.transition)
                    change.request.reporter?.circuitChanged(change.transition, change.request)
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
