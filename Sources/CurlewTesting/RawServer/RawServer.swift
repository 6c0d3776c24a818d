#if TestKit
internal import NIOCore

/// A server that sends exactly the bytes of its handler, and nothing by itself.
///
///     let server = try await RawServer.start { connection in
///         _ = try await connection.readHead()
///         try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
///         try await connection.reset()
///     }
///
/// The closure runs once for each connection, in its own task; the connection closes when it returns or throws. The
/// closure may stall indefinitely: ``shutdown()`` cancels it. The server's deinitialization stops it.
public final class RawServer: Sendable {
    /// A function that serves one connection.
    public typealias Handler = @Sendable (RawConnection) async throws -> Void

    let listener: Listener
    private let usesTLS: Bool

    private init(listener: Listener, usesTLS: Bool) {
        self.listener = listener
        self.usesTLS = usesTLS
    }

    deinit {
        self.listener.stop()
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - address: The address; IPv4 loopback by default.
    ///   - tls: The TLS configuration, with the protocols for ALPN; cleartext when `nil`.
    ///   - handler: The function that serves each connection.
    public static func start(
        at address: ServerAddress = .ipv4,
        tls: ServerTLS? = nil,
        handler: @escaping Handler
    ) async throws -> RawServer {
        let listener = try await Listener.start(
            at: address,
            tls: tls,
            allowsHalfClosure: true,
            faults: FaultScript(FaultGround(usesTLS: tls != nil, speaksHTTP2: false)),
            install: { connection in
                try ChannelPort<ByteBuffer, ByteBuffer>(installingOn: connection.channel)
            },
            serve: { connection, port in
                let connection = RawConnection(connection: connection, port: port)
                try? await handler(connection)
                await connection.finish()
            }
        )
        let server = RawServer(listener: listener, usesTLS: tls != nil)
        ServerScope.adopt { await server.shutdown() }
        return server
    }

    /// The port of the server; 0 on a Unix socket.
    public var port: Int { self.listener.port }

    /// The URL of `path` on this server.
    public func url(_ path: String = "/") -> String {
        self.listener.url(path, usesTLS: self.usesTLS)
    }

    /// The connection counts so far.
    public var connectionCounts: ConnectionCounts { self.listener.counts }

    /// The number of accepted connections so far.
    public var accepted: Int { self.connectionCounts.accepted }

    /// Returns the counts as soon as they satisfy `condition`.
    @discardableResult
    public func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.listener.waitForConnections(until: condition)
    }

    /// Returns when at least `count` connections have been accepted.
    public func waitForAccepted(_ count: Int) async throws {
        try await self.waitForConnections { $0.accepted >= count }
    }

    /// Stops accepting: the port refuses new connections, open connections stay open.
    public func stopAccepting() async {
        await self.listener.stopAccepting()
    }

    /// Cancels the handlers, aborts the connections and returns when all is closed.
    ///
    /// A handler must respond to cancellation; all functions of ``RawConnection`` do.
    public func shutdown() async {
        await self.listener.shutdown()
    }
}
#endif
