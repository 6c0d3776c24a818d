/// Connections that have left the pool, until they are closed.
///
/// libcurl closes a connection at once, or begins to shut it down and awaits the end of the peer's side. It gives the
/// peer two seconds, but no timer of its own ends that time, and it may even not watch the socket. Not `Sendable`: it
/// stays on its loop's thread.
final class ClosingConnections: LoopTimer {
    /// libcurl's own time for a shutdown, and a margin, in nanoseconds.
    private static let patience: Int64 = 2_500_000_000

    private let core: LoopCore
    private var next: [Connection] = []
    private var shuttingDown: [(connection: Connection, until: Instant)] = []

    init(core: LoopCore) { self.core = core }

    /// Takes a connection that is closed by the next ``close()``.
    func append(_ connection: Connection) { next.append(connection) }

    /// Closes the new connections, unless libcurl closes them by itself. Not called from within libcurl.
    func close() {
        while let connection = next.popLast() {
            if !connection.isClosed, !connection.isEndedByEngine { connection.multi.closeNow(connection) }
            guard !connection.isClosed else { continue }
            shuttingDown.append((connection, core.now.advanced(by: Self.patience)))
            if deadline == .distantFuture { setTimer() }
        }
    }

    func removeAll() {
        next = []
        shuttingDown = []
        core.timers.remove(self)
    }

    override func fire() {
        let late = shuttingDown.prefix { $0.until <= core.now }.map(\.connection)
        shuttingDown.removeFirst(late.count)
        for connection in late where !connection.isClosed { connection.multi.endShutdown(of: connection) }
        setTimer()
    }

    private func setTimer() {
        shuttingDown.removeAll { $0.connection.isClosed }
        if let first = shuttingDown.first { core.timers.set(self, to: first.until) }
    }
}
