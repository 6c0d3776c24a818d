#if TestKit
internal import NIOCore
internal import NIOPosix

/// A listening socket, its accepted connections and their tasks: the base of every server of this module.
final class Listener: Sendable {
    let address: ServerAddress
    let port: Int
    let connections: ConnectionTable
    private let channel: any Channel

    private init(address: ServerAddress, channel: any Channel, connections: ConnectionTable) {
        self.address = address
        self.channel = channel
        self.port = channel.localAddress?.port ?? 0
        self.connections = connections
    }

    /// Starts listening, and runs `serve` in its own task for each connection.
    ///
    /// `install` builds the pipeline above TLS on the event loop, before the first byte of the application is
    /// delivered. The connection closes when `serve` returns. `discard` replaces `serve` after a fault has ended the
    /// connection.
    static func start<Installed: Sendable>(
        at address: ServerAddress,
        tls: ServerTLS?,
        allowsHalfClosure: Bool,
        faults: FaultScript,
        install: @escaping @Sendable (AcceptedConnection) throws -> Installed,
        serve: @escaping @Sendable (AcceptedConnection, Installed) async -> Void,
        discard: @escaping @Sendable (Installed) async -> Void = { _ in }
    ) async throws -> Listener {
        let table = ConnectionTable()
        let contexts = try tls?.contexts() ?? []
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.allowRemoteHalfClosure, value: allowsHalfClosure)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 65_536, maximum: 262_144)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try table.admit(
                        channel,
                        contexts: contexts,
                        faults: faults,
                        install: install,
                        serve: serve,
                        discard: discard
                    )
                }
            }
        let channel: any Channel
        switch address.kind {
        case .ip(let host, let port):
            let bindable = bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            channel = try await bindable.bind(host: host, port: port).get()
        case .unixSocket(let path):
            channel = try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        }
        return Listener(address: address, channel: channel, connections: table)
    }

    /// Stops listening, aborts the connections and returns at once.
    func stop() {
        self.channel.close(promise: nil)
        self.connections.stop()
        self.address.removeSocketFile()
    }

    /// Stops the listener and returns when all sockets are closed and all tasks have returned.
    func shutdown() async {
        self.stop()
        try? await self.channel.closeFuture.get()
        // The wait ignores cancellation: a cancelled task must not leave sockets behind.
        await Task { [connections] in try? await connections.idle() }.value
    }

    /// Stops accepting; open connections stay open.
    func stopAccepting() async {
        try? await self.channel.close().get()
    }
}
#endif
