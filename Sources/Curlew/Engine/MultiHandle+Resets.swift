extension Engine {
    /// libcurl 7.88.0 to 8.14 write the RST_STREAM of a stream that ends early into a buffer, and do not send it before
    /// something else is sent on its connection: <https://github.com/curl/curl/issues/17611>.
    static let keepsResetsBack = versionNumber >= 0x075800 && versionNumber < 0x080F00
}

extension MultiHandle {
    /// For so long a connection waits for another request, whose HEADERS would take the reset along.
    static let resetPatience: Int64 = 1_000_000_000

    /// Notes that a transfer ended early, so that its peer is told soon that nobody listens any more.
    func noteDropped(on connection: Connection?) {
        guard let connection, connection.isMultiplexed, mayEnd(connection) else { return }
        guard !connection.isSilent else { return connection.giveUp() }
        guard Engine.keepsResetsBack else { return }
        connection.owesReset = true
        core.timers.set(connection, to: core.now.advanced(by: Self.resetPatience))
    }

    /// Ends the transfers on a connection that cannot be watched.
    func failUsers(of descriptor: Int32, _ error: CurlewError) {
        guard let connection = connection(descriptor), connection.isGivenUp else { return }
        connection.user?.transfer?.fail(error)
        for transfer in active where transfer.connection === connection { transfer.fail(error) }
        if mayEnd(connection) { connection.giveUp() }
    }

    /// Whether nobody uses the connection, as far as that is known: one that a port number did not name uniquely may be
    /// that of any transfer.
    func mayEnd(_ connection: Connection) -> Bool {
        guard knows(connection), connection.user == nil else { return false }
        return !hasTransfer { $0.connection === connection || $0.isSomewhere }
    }
}

extension Transfer {
    /// Whether it has a connection, and it is not known which.
    var isSomewhere: Bool { connection == nil && stage != .connecting }
}

extension Connection {
    /// Ends the connection, which the peer learns at once. libcurl finds it dead when it looks for one to reuse.
    func endForReset() {
        owesReset = false
        if multi.mayEnd(self) { giveUp() }
    }
}
