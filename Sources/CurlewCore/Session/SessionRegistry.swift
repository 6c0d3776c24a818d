/// The sessions of this process, for tests that check for leaks. The test kit needs this type in production code. It
/// costs a lock when a session is made and when it is released.
package enum SessionRegistry {
    private struct Reference: Sendable {
        weak var session: SessionActor?
    }

    private static let references = Guarded<[ObjectIdentifier: Reference]>([:])

    static func add(_ session: SessionActor) {
        let reference = Reference(session: session)
        references.withLock { $0[ObjectIdentifier(session)] = reference }
    }

    static func remove(_ identifier: ObjectIdentifier) {
        references.withLock { _ = $0.removeValue(forKey: identifier) }
    }

    /// Descriptions of the requests of all tasks that were started and have not ended, by the numbers of the tasks.
    package static func tasks() async -> [TaskActor.Identifier: String] {
        let sessions = references.withLock { $0.values.compactMap(\.session) }
        var found: [TaskActor.Identifier: String] = [:]
        for session in sessions {
            for task in await session.tasks() {
                found[task.id] = "\(task.request.method) \(task.request.uri.loggedText(showsQuery: false))"
            }
        }
        return found
    }
}
