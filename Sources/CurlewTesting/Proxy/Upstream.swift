#if TestKit
internal import NIOCore
internal import NIOPosix

typealias BytePort = ChannelPort<ByteBuffer, ByteBuffer>

/// The proxy's connection to a server.
struct Upstream: Sendable {
    private let port: BytePort

    /// Connects to a host; a name instead of an IP address means 127.0.0.1.
    static func connect(host: String, port: Int) async throws -> Upstream {
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        let address = try SocketAddress(ipAddress: isAddress ? host : "127.0.0.1", port: port)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(.seconds(5))
            .connect(to: address) { channel in
                channel.eventLoop.makeCompletedFuture { try BytePort(installingOn: channel) }
            }
        return Upstream(port: channel)
    }

    func read() async throws -> [UInt8]? {
        try await self.port.next().map { Array(buffer: $0) }
    }

    func write(_ bytes: [UInt8]) async throws {
        try await self.port.write(ByteBuffer(bytes: bytes), size: bytes.count)
    }

    func halfClose() async {
        try? await self.port.drained()
        try? await self.port.channel.close(mode: .output).get()
    }

    func close() {
        self.port.channel.close(promise: nil)
    }
}
#endif
