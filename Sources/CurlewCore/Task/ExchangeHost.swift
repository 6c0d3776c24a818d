/// The part of a session that lives on one loop: its connections, and its running and waiting exchanges. The exchanges
/// retain it beyond the life of the session.
///
/// `@unchecked Sendable`: mutable state is only accessed on the loop.
final class ExchangeHost: @unchecked Sendable {
    /// The settings of a host, and the closures that notify its session.
    struct Setting: Sendable {
        let connections: ConnectionLimits
        /// The largest number of running exchanges.
        let mostUnderWay: Int
        let progressInterval: Duration
        /// The largest part of a body that an event keeps, in bytes.
        let eventBodyLimit: Int
        let rate: SharedRate
        let broadcaster: Broadcaster<SessionEvent>
        /// Called when exchanges are cancelled because of the session's invalidation.
        let onCancel: @Sendable () -> Void
        /// Called once, when the session is invalidated and no exchange is left.
        let onEmpty: @Sendable () -> Void
    }

    /// The decision on an exchange that starts.
    enum Admission {
        case begins
        case waits
        case isRefused
    }

    let loop: CurlewEventLoop
    let heads = ResponseHeadCache()
    private let setting: Setting
    /// The engine for exchanges that begin now.
    @exclusivity(unchecked) private(set) var engine: MultiHandle
    /// The engines whose connections accept no new request; they are kept until their last exchange has ended.
    private var retired: [MultiHandle] = []
    @exclusivity(unchecked) private(set) var exchanges: [Exchange] = []
    @exclusivity(unchecked) private var queue: AdmissionQueue<Exchange>
    private let queueTimer = QueueTimer()
    private var isInvalidated = false
    private var hasReportedEmptiness = true
    private var emptyWaiters: [CheckedContinuation<Void, Never>] = []

    init(loop: CurlewEventLoop, _ setting: Setting) throws {
        self.loop = loop
        self.setting = setting
        queue = AdmissionQueue(limit: setting.mostUnderWay)
        engine = try MultiHandle(core: loop.core, limits: setting.connections)
        engine.rate = setting.rate.isUnlimited ? nil : setting.rate
    }

    /// The events of the session.
    var broadcaster: Broadcaster<SessionEvent> { setting.broadcaster }
    var progressInterval: Duration { setting.progressInterval }

    /// The part of a body that an event keeps.
    func kept(of body: [UInt8]) -> [UInt8] {
        body.count <= setting.eventBodyLimit ? body : Array(body.prefix(setting.eventBodyLimit))
    }

    private var engines: [MultiHandle] { retired + [engine] }

    /// The number of open connections, including idle ones.
    var connectionCount: Int { engines.reduce(0) { $0 + $1.connectionCount } }

    /// The number of running and of waiting exchanges, and the statistics of each engine.
    var figures: (underWay: Int, queued: Int, engines: [MultiHandle.Figures]) {
        (queue.underWay, queue.count, engines.map(\.figures))
    }

    // MARK: Exchanges

    /// Admits an exchange, queues it, or refuses it. A queued exchange is notified of its turn.
    func admit(_ exchange: Exchange) -> Admission {
        exchange.place = exchanges.count
        exchanges.append(exchange)
        if isInvalidated { return .isRefused }
        if queue.beginAtOnce() { return .begins }
        let deadline = exchange.totalDeadline
        exchange.queuePlace = queue.append(exchange, exchange.request.options.priority, until: deadline)
        queueTimer.host = self
        if deadline < queueTimer.deadline { loop.core.timers.set(queueTimer, to: deadline) }
        return .waits
    }

    /// Removes an exchange that has ended.
    /// - Parameter heldPlace: True if the exchange had occupied a slot.
    func ended(_ exchange: Exchange, heldPlace: Bool) {
        guard exchange.place >= 0 else { return }
        if let moved = exchanges.remove(swappingAt: exchange.place) { moved.place = exchange.place }
        exchange.place = -1
        if exchange.queuePlace >= 0 {
            queue.withdraw(at: exchange.queuePlace)
            exchange.queuePlace = -1
        } else if heldPlace {
            queue.noteEnd()
        }
        while let next = queue.next() {
            next.queuePlace = -1
            next.takeTurn()
        }
        if queue.isEmpty, queueTimer.deadline < .distantFuture { loop.core.timers.remove(queueTimer) }
        guard exchanges.isEmpty else { return }
        reportEmptiness()
        emptyWaiters.forEach { $0.resume() }
        emptyWaiters = []
    }

    /// Applies a changed rate limit of the session.
    func rateLimitChanged() {
        for engine in engines { engine.rate = setting.rate.isUnlimited ? nil : setting.rate }
        for exchange in exchanges { exchange.rateLimitsChanged() }
    }

    /// Ends the queued exchanges whose total timeout has passed.
    fileprivate func endOverdue() {
        for exchange in queue.overdue(at: loop.core.now) {
            exchange.abort(CurlewError(.totalTimeout, "still waiting for its turn when its time was over"))
        }
        loop.core.timers.set(queueTimer, to: queue.nearestDeadline)
    }

    // MARK: Shutdown

    /// Refuses further exchanges; with `cancelling` it also cancels the present ones.
    func invalidate(cancelling: Bool) {
        if !isInvalidated { hasReportedEmptiness = false }
        isInvalidated = true
        defer { if exchanges.isEmpty { reportEmptiness() } }
        for exchange in exchanges { exchange.noteSessionEnd() }
        guard cancelling, !exchanges.isEmpty else { return }
        setting.onCancel()
        for exchange in exchanges.sorted(by: { $0.number < $1.number }) {
            exchange.abort(CurlewError(.sessionInvalidated, "the session was invalidated"))
        }
    }

    private func reportEmptiness() {
        guard !hasReportedEmptiness else { return }
        hasReportedEmptiness = true
        setting.onEmpty()
    }

    /// Resumes `waiter` when no exchange is left.
    func whenEmpty(_ waiter: CheckedContinuation<Void, Never>) {
        if exchanges.isEmpty { waiter.resume() } else { emptyWaiters.append(waiter) }
    }

    /// Closes every connection. No exchange can start afterwards.
    func close() {
        isInvalidated = true
        loop.core.timers.remove(queueTimer)
        for engine in [engine] + retired { engine.close() }
    }

    /// Gives later exchanges new connections. The present connections are closed when they are unused.
    /// - Returns: True if there were connections.
    func retireConnections() -> Bool {
        retired.removeAll(where: \.isClosed)
        // The machine may lose the local address of a connection long after the route.
        for engine in retired { engine.endLost() }
        guard engine.connectionCount > 0 else { return false }
        // Without memory for a new engine the old one is kept: its connections may still work.
        guard !isInvalidated, let made = try? MultiHandle(core: loop.core, limits: setting.connections) else {
            engine.endLost()
            return false
        }
        made.rate = engine.rate
        // The engine is replaced before its exchanges end, because the end of an exchange may start another one.
        let old = engine
        engine = made
        old.retire()
        if !old.isClosed { retired.append(old) }
        return true
    }

    /// Closes all idle connections, if none is in use.
    func closeIdleConnections() { engine.closeIdleConnections() }
}

/// Watches the deadlines of queued exchanges.
private final class QueueTimer: LoopTimer {
    // Not weak: a weak reference would make each retain of the host slow. The timer is set only while exchanges wait,
    // and these retain the host.
    unowned var host: ExchangeHost?

    override func fire() { host?.endOverdue() }
}
