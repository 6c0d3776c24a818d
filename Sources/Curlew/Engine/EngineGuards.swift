internal import Synchronization

/// Counts how often libcurl, against the pool's choice, was about to send a request over another connection, or to open
/// another socket for one that is open. It is refused each time.
enum EngineGuards {
    private static let wrongConnections = Atomic(0)
    private static let needlessSockets = Atomic(0)

    /// The number of refusals so far, in the whole process.
    static var count: Int {
        wrongConnections.load(ordering: .relaxed) + needlessSockets.load(ordering: .relaxed)
    }

    static func noteWrongConnection() { wrongConnections.add(1, ordering: .relaxed) }

    static func noteNeedlessSocket() { needlessSockets.add(1, ordering: .relaxed) }
}
