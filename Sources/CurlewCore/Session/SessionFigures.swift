extension SessionActor {
    /// The counts of tasks and connections of a session at a moment.
    public struct Figures: Sendable, Hashable {
        /// The tasks that have left the queue and have not ended.
        public internal(set) var runningTasks = 0
        /// The tasks in the queue (``SessionConfiguration/tasksInFlight``).
        public internal(set) var queuedTasks = 0
        /// The running tasks that have no connection and have not begun to open one (``Timeouts/connectionWait``).
        public internal(set) var tasksAwaitingConnections = 0
        /// The running tasks that have a connection; over HTTP/2 the open streams.
        public internal(set) var streams = 0
        /// The connections that tasks use.
        public internal(set) var activeConnections = 0
        /// The active connections that were switched to another protocol, such as WebSockets.
        public internal(set) var upgradedConnections = 0
        /// The idle connections, kept for another request.
        public internal(set) var idleConnections = 0
        /// The connections that are being opened, counted in sockets. A task may open several, as with two families of
        /// addresses.
        public internal(set) var pendingConnections = 0

        /// The connections of every kind.
        public var connections: Int { activeConnections + idleConnections + pendingConnections }

        init() {}

        static func + (left: Figures, right: Figures) -> Figures {
            var sum = left
            sum.runningTasks += right.runningTasks
            sum.queuedTasks += right.queuedTasks
            sum.tasksAwaitingConnections += right.tasksAwaitingConnections
            sum.streams += right.streams
            sum.activeConnections += right.activeConnections
            sum.upgradedConnections += right.upgradedConnections
            sum.idleConnections += right.idleConnections
            sum.pendingConnections += right.pendingConnections
            return sum
        }
    }

    /// The present counts of tasks and connections. The event loops count them on demand, in time that grows with the
    /// number of tasks and connections. A monitor should ask only every few seconds.
    public nonisolated func figures() async -> Figures { await gauges.figures() }
}

/// The source of a session's figures. Observers refer to it weakly. A weak reference to the session itself would move
/// its reference count to a side table, and each retain of the session would take three times as many instructions.
package final class SessionGauges: Sendable {
    private let shards: [SessionShard]

    init(_ shards: [SessionShard]) { self.shards = shards }

    package func figures() async -> SessionActor.Figures {
        var sum = SessionActor.Figures()
        for shard in shards { sum = sum + (await shard.figures) }
        return sum
    }
}
