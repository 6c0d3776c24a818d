import CurlewTesting

/// A server of a protocol that sends back the received bytes.
enum EchoUpgrade {
    /// The head that switches to the protocol.
    static let switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

    /// Serves a connection, until the client ends its side.
    @Sendable static func serve(_ connection: RawConnection) async throws {
        _ = try await connection.readHead()
        try await connection.write(switching)
        while let bytes = try await connection.read() { try await connection.write(bytes) }
    }
}
