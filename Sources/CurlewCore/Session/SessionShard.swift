/// The part of a session on one event loop, with an interface for other threads.
actor SessionShard {
    /// The host of the exchanges. Its mutable state is accessed on the loop only.
    nonisolated let host: ExchangeHost

    init(loop: CurlewEventLoop, _ setting: ExchangeHost.Setting) throws {
        host = try ExchangeHost(loop: loop, setting)
    }

    nonisolated var loop: CurlewEventLoop { host.loop }
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The tasks that were started and have not ended.
    var tasks: [TaskActor] { host.exchanges.map(\.face) }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { host.connectionCount }

    var figures: SessionActor.Figures {
        var figures = SessionActor.Figures()
        let found = host.figures
        figures.runningTasks = found.underWay
        figures.queuedTasks = found.queued
        for engine in found.engines {
            figures.tasksAwaitingConnections += engine.waiting
            figures.streams += engine.streams
            figures.activeConnections += engine.active
            figures.upgradedConnections += engine.upgraded
            figures.idleConnections += engine.idle
            figures.pendingConnections += engine.pending
        }
        return figures
    }

    func invalidate(cancelling: Bool) { host.invalidate(cancelling: cancelling) }

    /// Waits until no task is left.
    func whenEmpty() async {
        // The check runs on the loop, in the same turn as the registration: between two turns the last task could end.
        await withCheckedContinuation { host.whenEmpty($0) }
    }

    func close() { host.close() }

    func retireConnections() -> Bool { host.retireConnections() }

    func closeIdleConnections() { host.closeIdleConnections() }
}
