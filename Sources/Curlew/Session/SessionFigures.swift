extension SessionActor {
    /// What a session has under way at a moment.
    public struct Figures: Sendable, Hashable {
        /// The tasks whose turn has come and that have not ended.
        public internal(set) var runningTasks = 0
        /// The tasks that wait for their turn (``SessionConfiguration/tasksInFlight``).
        public internal(set) var queuedTasks = 0
        /// The running tasks that neither have a connection nor begin to make one (``Timeouts/connectionWait``).
        public internal(set) var tasksAwaitingConnections = 0
        /// The running tasks that have a connection: over HTTP/2 the open streams.
        public internal(set) var streams = 0
        /// The connections that tasks use.
        public internal(set) var activeConnections = 0
        /// Those of them that were switched to another protocol, such as WebSockets.
        public internal(set) var upgradedConnections = 0
        /// The connections that are kept for another request.
        public internal(set) var idleConnections = 0
        /// The connections that are being made: sockets, of which several may be for one task, as with two families of addresses.
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

    /// What the session has under way at this moment. Its event loops count it when they are asked, in time that grows with the number of
    /// tasks and connections: a monitor should ask every few seconds.
    public nonisolated func figures() async -> Figures {
        var sum = Figures()
        for shard in shards { sum = sum + (await shard.figures) }
        return sum
    }
}
