/// The sessions of this process, for tests that check for leaks. The test kit needs this type in production code. It
/// costs a lock when a session is made and when it is released.
package enum SessionRegistry {
    // The shards, not a weak reference to the session, for the reason given at `SessionGauges`.
    private static let shards = Guarded<[ObjectIdentifier: [SessionShard]]>([:])

    static func add(_ session: ObjectIdentifier, _ shards: [SessionShard]) {
        self.shards.withLock { $0[session] = shards }
    }

    static func remove(_ session: ObjectIdentifier) {
        shards.withLock { _ = $0.removeValue(forKey: session) }
    }

    /// Descriptions of the requests of all tasks that were started and have not ended, by the numbers of the tasks.
    package static func tasks() async -> [TaskActor.Identifier: String] {
        var found: [TaskActor.Identifier: String] = [:]
        for shard in shards.withLock({ $0.values.flatMap(\.self) }) {
            for task in await shard.tasks {
                found[task.id] = "\(task.request.method) \(task.request.uri.loggedText(showsQuery: false))"
            }
        }
        return found
    }
}
