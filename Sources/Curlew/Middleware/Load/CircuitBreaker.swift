internal import HTTPTypes

/// Stops sending to a server for a while when too many requests to it fail, so that callers learn so at once and the server has time to
/// recover.
///
/// For each group of requests there is a circuit. It is *closed* as long as all is well. When of the calls of the last
/// ``Policy/window`` too many failed, or were slow, it *opens*: nothing is sent, and callers get ``ErrorCode/circuitOpen``. After
/// ``Policy/firstWait`` it is *half-open*: ``Policy/probes`` calls are sent. If all go well it closes; if one fails it opens again, for twice
/// as long.
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
/// A failure is an answer of 500, 502, 503 or 504, a lack of connection, a connection that is lost, an answer that is not HTTP, and a timeout. What
/// was cancelled or refused on this side says nothing, and every other answer is a success; ``judge`` decides otherwise. What counts is the head:
/// a body that breaks off is no failure here.
///
/// It stands behind the standard chain, so that it sees every attempt, and no answer of a cache. ``Retry`` does not repeat what an open
/// circuit refuses. A change is an event, ``SessionEvent/Kind/circuitChanged``, of each session made with the link, and a metric of
/// `RequestMetrics`. Copies of a link share their circuits.
public struct CircuitBreaker: CurlewMiddleware {
    /// When a circuit opens, and how it closes.
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
            self.failureRate = min(max(failureRate, 0), 1)
            self.slowAfter = slowAfter
            self.slowRate = min(max(slowRate, 0), 1)
            self.minimumCalls = max(1, minimumCalls)
            self.window = max(.milliseconds(1), window)
            self.firstWait = max(.zero, firstWait)
            self.longestWait = max(.zero, longestWait)
            self.probes = max(1, probes)
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
    public var states: [String: CircuitState] { core.states }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard let pass = try core.enter(request) else { return try await next(request) }
        do {
            let response = try await next(request)
            core.leave(pass, request, judgement(of: response))
            return response
        } catch {
            core.leave(pass, request, judgement(of: error))
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
        return error.code.isServersFailure ? .failure : .none
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
        final class Group {
            let name: String
            var machine: CircuitMachine

            init(_ name: String, _ policy: Policy) {
                self.name = name
                machine = CircuitMachine(policy)
            }
        }

        /// Somebody who publishes changes elsewhere.
        struct Publisher: Sendable {
            let isAlive: @Sendable () -> Bool
            let publish: @Sendable (CircuitTransition) -> Void
        }

        /// The leave of a call. `@unchecked Sendable`: the group is touched under the lock alone.
        struct Pass: @unchecked Sendable {
            fileprivate let group: Group
            fileprivate let leave: CircuitMachine.Leave
            fileprivate let start: Int64
        }

        private let policy: Policy
        private let timekeeper: Timekeeper
        private let groups: Guarded<LoadGroups<Group>>
        let broadcaster = Broadcaster<CircuitTransition>(bufferSize: 100)
        /// Those who publish a change elsewhere.
        private let publishers = Guarded<[Publisher]>([])

        init(_ policy: Policy, _ scope: LoadScope, _ timekeeper: Timekeeper) {
            self.policy = policy
            self.timekeeper = timekeeper
            groups = Guarded(LoadGroups(scope))
        }

        deinit { broadcaster.finish() }

        private var now: Int64 { timekeeper.nanoseconds() }

        var states: [String: CircuitState] {
            groups.withLock { groups in
                Dictionary(uniqueKeysWithValues: groups.all.map { ($0.name, $0.group.machine.current) })
            }
        }

        func add(_ publisher: Publisher) {
            publishers.withLock { publishers in
                publishers.removeAll { !$0.isAlive() }
                publishers.append(publisher)
            }
        }

        /// - Returns: nil for a request without a circuit.
        /// - Throws: ``CurlewError`` with ``ErrorCode/circuitOpen``.
        func enter(_ request: CurlewRequest) throws -> Pass? {
            let now = now
            let (pass, closed, change) = groups.withLock { groups -> (Pass?, (Group, Int64)?, CircuitTransition?) in
                let group = groups.group(of: request, isIdle: { $0.machine.isIdle }) { Group($0, policy) }
                guard let group else { return (nil, nil, nil) }
                let (leave, change) = group.machine.ask(at: now)
                let transition = change.map { CircuitTransition(group: group.name, $0) }
                guard let leave else { return (nil, (group, group.machine.wait(at: now)), transition) }
                return (Pass(group: group, leave: leave, start: now), nil, transition)
            }
            if let change { publish(change, request) }
            if let closed { throw refusal(of: request, closed.0.name, wait: closed.1) }
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

        func leave(_ pass: Pass, _ request: CurlewRequest, _ result: CircuitMachine.Result) {
            let now = now
            let change = groups.withLock { _ in
                pass.group.machine.take(result, pass.leave, duration: now - pass.start, at: now)
            }
            if let change { publish(CircuitTransition(group: pass.group.name, change), request) }
        }

        @inline(never)
        private func publish(_ transition: CircuitTransition, _ request: CurlewRequest) {
            broadcaster.publish(transition)
            for observer in request.observers { observer.circuitChanged(transition, request) }
            for publisher in publishers.withLock({ $0 }) { publisher.publish(transition) }
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
