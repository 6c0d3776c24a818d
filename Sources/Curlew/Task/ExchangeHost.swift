/// The part of a session that lives on one loop: its connections, the exchanges under way, and those that wait their turn. It
/// outlives the session in the session's exchanges.
///
/// `@unchecked Sendable`: what changes is touched on the loop alone.
final class ExchangeHost: @unchecked Sendable {
    /// The settings of a host, and the words by which it tells its session of its end.
    struct Setting: Sendable {
        let connections: ConnectionLimits
        /// The most exchanges under way at a time.
        let mostUnderWay: Int
        let progressInterval: Duration
        /// As much of a body as an event keeps, in bytes.
        let eventBodyLimit: Int
        let rate: SharedRate
        let broadcaster: Broadcaster<SessionEvent>
        /// Called when exchanges are cancelled with the session.
        let onCancel: @Sendable () -> Void
        /// Called once, when the session was invalidated and nothing is left here.
        let onEmpty: @Sendable () -> Void
    }

    /// The answer to an exchange that wants to start.
    enum Admission {
        case begins
        case waits
        case isRefused
    }

    let loop: CurlewEventLoop
    let heads = ResponseHeadCache()
    private let setting: Setting
    /// The engine that the exchanges go out on that begin now.
    @exclusivity(unchecked) private(set) var engine: MultiHandle
    /// The engines whose connections take no new request, until their last has ended.
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

    /// As much of a body as an event keeps.
    func kept(of body: [UInt8]) -> [UInt8] {
        body.count <= setting.eventBodyLimit ? body : Array(body.prefix(setting.eventBodyLimit))
    }

    private var engines: [MultiHandle] { retired + [engine] }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { engines.reduce(0) { $0 + $1.connectionCount } }

    /// The exchanges under way and those that wait, and the figures of each engine.
    var figures: (underWay: Int, queued: Int, engines: [MultiHandle.Figures]) {
        (queue.underWay, queue.count, engines.map(\.figures))
    }

    // MARK: Exchanges

    /// Takes an exchange in. One that waits is told when its turn comes.
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

    /// An exchange has ended, wherever it was.
    /// - Parameter heldPlace: Whether its turn had come.
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

    /// Another limit of rate holds for the session.
    func rateLimitChanged() {
        for engine in engines { engine.rate = setting.rate.isUnlimited ? nil : setting.rate }
        for exchange in exchanges { exchange.rateLimitsChanged() }
    }

    /// Ends the exchanges that have waited for longer than they may take in all.
    fileprivate func endOverdue() {
        for exchange in queue.overdue(at: loop.core.now) {
            exchange.abort(CurlewError(.totalTimeout, "still waiting for its turn when its time was over"))
        }
        loop.core.timers.set(queueTimer, to: queue.nearestDeadline)
    }

    // MARK: Ends

    /// Takes no more exchanges; by choice ends those there are.
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

    /// Closes every connection. Nothing can be started afterwards.
    func close() {
        isInvalidated = true
        loop.core.timers.remove(queueTimer)
        for engine in [engine] + retired { engine.close() }
    }

    /// Gives what begins from now on other connections than those there are, which are closed once nobody uses them.
    /// - Returns: Whether there were any.
    func retireConnections() -> Bool {
        retired.removeAll(where: \.isClosed)
        // An address may be lost long after the way that it stood for.
        for engine in retired { engine.endLost() }
        guard engine.connectionCount > 0 else { return false }
        // Without memory for another, the old one goes on: its connections may be alive after all.
        guard !isInvalidated, let made = try? MultiHandle(core: loop.core, limits: setting.connections) else {
            engine.endLost()
            return false
        }
        made.rate = engine.rate
        // Before exchanges of the old one learn of their ends, as others may begin for what has ended.
        let old = engine
        engine = made
        old.retire()
        if !old.isClosed { retired.append(old) }
        return true
    }

    /// Closes the connections that no request uses, if none is in use.
    func closeIdleConnections() { engine.closeIdleConnections() }
}

/// Looks after the deadlines of exchanges that wait their turn.
private final class QueueTimer: LoopTimer {
    weak var host: ExchangeHost?

    override func fire() { host?.endOverdue() }
}
