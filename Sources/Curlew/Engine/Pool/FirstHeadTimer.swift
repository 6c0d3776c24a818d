/// The time for which exchanges wait to share a connection that can be shared from its first response on
/// (``Engine/sharesAfterFirstHead``).
final class FirstHeadTimer: LoopTimer {
    /// In nanoseconds.
    static let patience: Int64 = 100_000_000

    private weak var connection: Connection?

    init(of connection: Connection) { self.connection = connection }

    override func fire() {
        if let connection { connection.multi.connections.firstHeadIsLate(on: connection) }
    }
}
