#if TestKit
public import CurlewWebSockets

/// A server that accepts only WebSockets.
///
///     let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
///     try await api.webSocket(.raw(server.url("/chat"))) { socket in … }
///
/// The closure runs in a separate task for each connection. The connection closes when the closure returns or throws. A
/// server without references shuts down automatically.
public final class MockWebSocketServer: Sendable {
    private let server: RawServer

    private init(_ server: RawServer) { self.server = server }

    /// Starts a server.
    /// - Parameters:
    ///   - address: The address of the server; IPv4 loopback by default.
    ///   - tls: The TLS of the server; cleartext when nil.
    ///   - protocols: The subprotocols that the server supports, the preferred one first.
    ///   - options: The bounds and the compression of the server.
    ///   - handler: The server's end of each WebSocket.
    public static func start(
        at address: ServerAddress = .ipv4, tls: ServerTLS? = nil, protocols: [String] = [],
        options: CurlewWebSocket.Options = CurlewWebSocket.Options(),
        handler: @escaping @Sendable (MockWebSocket) async throws -> Void
    ) async throws -> MockWebSocketServer {
        MockWebSocketServer(
            try await RawServer.start(at: address, tls: tls) { connection in
                try await handler(MockWebSocket.accept(connection, protocols: protocols, options: options))
            })
    }

    /// The port of the server; 0 on a Unix socket.
    public var port: Int { self.server.port }

    /// The address of `path` on this server, with the scheme `ws` or `wss`.
    public func url(_ path: String = "/") -> String {
        let url = self.server.url(path)
        return url.hasPrefix("https:") ? "wss" + url.dropFirst(5) : "ws" + url.dropFirst(4)
    }

    /// The number of connections that were accepted so far.
    public var accepted: Int { self.server.accepted }

    /// Returns the counts of connections as soon as they satisfy `condition`.
    @discardableResult
    public func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.server.waitForConnections(until: condition)
    }

    /// Cancels the handlers, aborts the connections and returns when all is closed.
    public func shutdown() async { await self.server.shutdown() }
}
#endif
