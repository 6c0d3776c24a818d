/// The part of a session that lives on one loop: its connections, the tasks under way, and those that wait their turn.
actor SessionShard: LoopActor, TaskHost {
    nonisolated let loop: CurlewEventLoop
    nonisolated let progressInterval: Duration
    @exclusivity(unchecked) private var multi: MultiHandle
    private nonisolated let connections: ConnectionLimits
    /// The engines whose connections take no new request, until their last has ended.
    private var retired: [MultiHandle] = []
    /// The events of the session; they outlive it in its tasks.
    nonisolated let broadcaster: Broadcaster<SessionEvent>
    nonisolated let eventBodyLimit: Int
    private let rate: SharedRate
    private let invalidation: Invalidation
    private var hasPublishedEmptiness = true
    @exclusivity(unchecked) private var live: [TaskActor.Identifier: TaskActor] = [:]
    @exclusivity(unchecked) private var queue: AdmissionQueue<TaskActor.Identifier, TaskActor>
    private var isInvalidated = false
    private var emptyWaiters: [CheckedContinuation<Void, Never>] = []
    private let queueTimer = QueueTimer()

    init(
        loop: CurlewEventLoop, configuration: SessionConfiguration, rate: SharedRate,
        broadcaster: Broadcaster<SessionEvent>,
        invalidation: Invalidation
    ) throws {
        self.loop = loop
        self.rate = rate
        self.broadcaster = broadcaster
        self.invalidation = invalidation
        eventBodyLimit = max(0, configuration.eventBodyLimit.bytes)
        progressInterval = configuration.progressInterval
        queue = AdmissionQueue(limit: configuration.tasksInFlight)
        connections = configuration.connections
        multi = try MultiHandle(core: loop.core, limits: configuration.connections)
        multi.rate = rate.isUnlimited ? nil : rate
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The tasks that were started and have not ended.
    var tasks: [TaskActor] { Array(live.values) }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { retired.reduce(multi.connectionCount) { $0 + $1.connectionCount } }

    var figures: SessionActor.Figures {
        var figures = SessionActor.Figures()
        figures.runningTasks = queue.underWay
        figures.queuedTasks = queue.count
        for multi in retired + [multi] {
            let engine = multi.figures
            figures.tasksAwaitingConnections += engine.waiting
            figures.streams += engine.streams
            figures.activeConnections += engine.active
            figures.idleConnections += engine.idle
            figures.pendingConnections += engine.pending
        }
        return figures
    }

    // MARK: Tasks, on the loop

    nonisolated var engine: MultiHandle { enter(()) { shard, _ in shard.multi } }

    nonisolated func admit(_ task: TaskActor) -> TaskAdmission { enter(task) { $0.takeIn($1) } }

    private func takeIn(_ task: TaskActor) -> TaskAdmission {
        live[task.id] = task
        if isInvalidated { return .isRefused }
        if queue.takePlace() { return .begins }
        let deadline = task.enter(()) { task, _ in task.totalDeadline }
        queue.append(task, task.id, until: deadline)
        queueTimer.shard = self
        if deadline < queueTimer.deadline { loop.core.timers.set(queueTimer, to: deadline) }
        return .waits
    }

    nonisolated func ended(_ task: TaskActor, heldPlace: Bool) {
        enter((task, heldPlace)) { $0.release($1.0, heldPlace: $1.1) }
    }

    private func release(_ task: TaskActor, heldPlace: Bool) {
        guard live.removeValue(forKey: task.id) != nil else { return }
        queue.leave(task.id, heldPlace: heldPlace)
        while let next = queue.next() { next.enter(()) { task, _ in task.begin() } }
        if queue.isEmpty, queueTimer.deadline < .distantFuture { loop.core.timers.remove(queueTimer) }
        guard live.isEmpty else { return }
        publishEmptiness()
        emptyWaiters.forEach { $0.resume() }
        emptyWaiters = []
    }

    /// Another limit holds for the session.
    func rateLimitChanged() {
        for multi in retired + [multi] { multi.rate = rate.isUnlimited ? nil : rate }
        for task in live.values { task.enter(()) { task, _ in task.rateLimitsChanged() } }
    }

    /// Ends the tasks that have waited for longer than they may take in all.
    fileprivate func endOverdue() {
        for task in queue.overdue(at: loop.core.now) {
            let error = CurlewError(.totalTimeout, "still waiting for its turn when its time was over")
            task.enter(error) { $0.abort($1) }
        }
        loop.core.timers.set(queueTimer, to: queue.nearestDeadline)
    }

    // MARK: Ends

    /// Takes no more tasks; by choice ends those there are.
    func invalidate(cancelling: Bool) {
        if !isInvalidated { hasPublishedEmptiness = false }
        isInvalidated = true
        defer { if live.isEmpty { publishEmptiness() } }
        guard cancelling, !live.isEmpty else { return }
        invalidation.cancels()
        for task in live.values.sorted(by: { $0.id < $1.id }) {
            task.enter(CurlewError(.sessionInvalidated, "the session was invalidated")) { $0.abort($1) }
        }
    }

    private func publishEmptiness() {
        guard !hasPublishedEmptiness else { return }
        hasPublishedEmptiness = true
        invalidation.loopIsEmpty()
    }

    /// Waits until no task is left.
    func whenEmpty() async {
        await withCheckedContinuation { waiter in
            // Looked at here and not before: between the two the last task may end, as this may be another turn.
            if live.isEmpty { waiter.resume() } else { emptyWaiters.append(waiter) }
        }
    }

    /// Closes every connection. Nothing can be started afterwards.
    func close() {
        isInvalidated = true
        loop.core.timers.remove(queueTimer)
        multi.close()
        for multi in retired { multi.close() }
    }

    /// Gives what begins from now on other connections than those there are, which are closed once nobody uses them.
    /// - Returns: Whether there were any.
    func retireConnections() -> Bool {
        retired.removeAll(where: \.isClosed)
        // An address may be lost long after the way that it stood for.
        for multi in retired { multi.endLost() }
        guard multi.connectionCount > 0 else { return false }
        // Without memory for another, the old one goes on: its connections may be alive after all.
        guard !isInvalidated, let made = try? MultiHandle(core: loop.core, limits: connections) else {
            multi.endLost()
            return false
        }
        made.rate = multi.rate
        // Before the old one notifies its observers, as others may begin for what has ended.
        let old = multi
        multi = made
        old.retire()
        if !old.isClosed { retired.append(old) }
        return true
    }

    /// Closes the connections that no request uses, if none is in use.
    func closeIdleConnections() { multi.closeIdleConnections() }
}

/// Looks after the deadlines of tasks that wait their turn.
private final class QueueTimer: LoopTimer {
    weak var shard: SessionShard?

    override func fire() { shard?.enter(()) { shard, _ in shard.endOverdue() } }
}
