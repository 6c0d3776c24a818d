/// The part of a session that lives on one loop: its connections, the tasks under way, and those that wait their turn.
actor SessionShard: LoopActor {
    nonisolated let loop: EventLoop
    nonisolated let progressInterval: Duration
    @exclusivity(unchecked) private(set) var multi: MultiHandle
    private nonisolated let connections: ConnectionLimits
    /// Those whose connections take no new request, until their last has ended.
    private var retired: [MultiHandle] = []
    /// What the session tells; it outlives the session in its tasks.
    nonisolated let broadcaster: EventBroadcaster
    nonisolated let eventBodyLimit: Int
    private let rate: SharedRate
    private let invalidation: Invalidation
    private var hasToldEmptiness = true
    private let limit: Int
    @exclusivity(unchecked) private var live: [TaskIdentifier: TaskActor] = [:]
    private var inFlight = 0
    @exclusivity(unchecked) private var waiting: [TaskActor?] = []
    private var firstWaiting = 0
    /// The place that the first slot of `waiting` stands for: slots that are done with are dropped.
    private var firstPlace = 0
    @exclusivity(unchecked) private var places: [TaskIdentifier: Int] = [:]
    private var isInvalidated = false
    private var emptyWaiters: [CheckedContinuation<Void, Never>] = []
    private let queueTimer = QueueTimer()

    init(
        loop: EventLoop, configuration: SessionConfiguration, rate: SharedRate, broadcaster: EventBroadcaster,
        invalidation: Invalidation
    ) throws {
        self.loop = loop
        self.rate = rate
        self.broadcaster = broadcaster
        self.invalidation = invalidation
        eventBodyLimit = max(0, configuration.eventBodyLimit.bytes)
        progressInterval = configuration.progressInterval
        limit = max(1, configuration.tasksInFlight)
        connections = configuration.connections
        multi = try MultiHandle(core: loop.core, limits: configuration.connections)
        multi.rate = rate.isUnlimited ? nil : rate
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The tasks that were started and have not ended.
    var tasks: [TaskActor] { Array(live.values) }

    /// How many connections are open, idle ones included.
    var connectionCount: Int { retired.reduce(multi.connectionCount) { $0 + $1.connectionCount } }

    /// What becomes of a task that wants to start.
    enum Admission { case begins(on: MultiHandle), waits, isRefused }

    /// Takes a task in. One that waits is told when its turn comes.
    func admit(_ task: TaskActor) -> Admission {
        live[task.id] = task
        if isInvalidated { return .isRefused }
        guard inFlight < limit else {
            places[task.id] = firstPlace + waiting.count
            waiting.append(task)
            queueTimer.shard = self
            let deadline = task.enter(()) { task, _ in task.queueDeadline }
            if deadline < queueTimer.deadline { loop.core.timers.set(queueTimer, to: deadline) }
            return .waits
        }
        inFlight += 1
        return .begins(on: multi)
    }

    /// A task has ended, wherever it was.
    func ended(_ task: TaskActor, hadBegun: Bool) {
        guard live.removeValue(forKey: task.id) != nil else { return }
        if hadBegun { inFlight -= 1 }
        if !places.isEmpty, let place = places.removeValue(forKey: task.id) { waiting[place - firstPlace] = nil }
        if !waiting.isEmpty { beginWaiting() }
        if live.isEmpty {
            tellEmptiness()
            emptyWaiters.forEach { $0.resume() }
            emptyWaiters = []
        }
    }

    /// Another limit holds for the session.
    func rateLimitChanged() {
        for multi in retired + [multi] { multi.rate = rate.isUnlimited ? nil : rate }
        for task in live.values { task.enter(()) { task, _ in task.rateLimitsChanged() } }
    }

    private func beginWaiting() {
        while inFlight < limit, firstWaiting < waiting.count {
            let task = waiting[firstWaiting]
            waiting[firstWaiting] = nil
            firstWaiting += 1
            guard let task else { continue }
            places[task.id] = nil
            inFlight += 1
            task.enter(multi) { $0.begin(on: $1) }
        }
        if firstWaiting > 1000, firstWaiting > waiting.count / 2 {
            waiting.removeFirst(firstWaiting)
            firstPlace += firstWaiting
            firstWaiting = 0
        }
        if places.isEmpty {
            waiting = []
            firstWaiting = 0
            firstPlace = 0
            loop.core.timers.remove(queueTimer)
        }
    }

    /// Ends the tasks that have waited for longer than they may take in all.
    fileprivate func endOverdue() {
        let now = loop.core.now
        var next = Instant.distantFuture
        for task in waiting[firstWaiting...].compactMap({ $0 }) {
            let deadline = task.enter(()) { task, _ in task.queueDeadline }
            if deadline <= now {
                let error = CurlewError(.totalTimeout, "still waiting for its turn when its time was over")
                task.enter(error) { $0.abort($1) }
            } else {
                next = min(next, deadline)
            }
        }
        loop.core.timers.set(queueTimer, to: next)
    }

    /// Takes no more tasks; by choice ends those there are.
    func invalidate(cancelling: Bool) {
        if !isInvalidated { hasToldEmptiness = false }
        isInvalidated = true
        defer { if live.isEmpty { tellEmptiness() } }
        guard cancelling, !live.isEmpty else { return }
        invalidation.cancels()
        for task in live.values.sorted(by: { $0.id < $1.id }) {
            task.enter(CurlewError(.sessionInvalidated, "the session was invalidated")) { $0.abort($1) }
        }
    }

    private func tellEmptiness() {
        guard !hasToldEmptiness else { return }
        hasToldEmptiness = true
        invalidation.loopIsEmpty()
    }

    /// Waits until no task is left.
    func whenEmpty() async {
        guard !live.isEmpty else { return }
        await withCheckedContinuation { emptyWaiters.append($0) }
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
    func letConnectionsGo() -> Bool {
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
        // Before the old one tells its news, as others may begin for what has ended.
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
