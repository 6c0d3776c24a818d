internal import Synchronization

/// Counts the cases in which libcurl, against the pool's choice, was about to use another connection, or to open a
/// second socket for an open one. Curlew rejects each attempt.
enum EngineGuards {
    private static let wrongConnections = Atomic(0)
    private static let needlessSockets = Atomic(0)

    /// The number of rejections so far, in the process.
    static var count: Int {
        wrongConnections.load(ordering: .relaxed) + needlessSockets.load(ordering: .relaxed)
    }

    static func noteWrongConnection() { wrongConnections.add(1, ordering: .relaxed) }

    static func noteNeedlessSocket() { needlessSockets.add(1, ordering: .relaxed) }
}
