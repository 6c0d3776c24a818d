import NIOCore
import NIOPosix
import NIOSSL

/// A client that sends and receives bytes, to observe the servers from outside.
final class WireClient: Sendable {
    struct Ended: Error {}

    private let channel: any Channel
    private let inbound: AsyncThrowingStream<[UInt8], any Error>
    private let reader: Reader

    private init(channel: any Channel, inbound: AsyncThrowingStream<[UInt8], any Error>) {
        self.channel = channel
        self.inbound = inbound
        self.reader = Reader(inbound)
    }

    deinit { self.channel.close(promise: nil) }

    static func connect(
        host: String = "127.0.0.1",
        port: Int,
        tls: TLSConfiguration? = nil,
        serverName: String? = "localhost"
    ) async throws -> WireClient {
        try await self.connect(to: SocketAddress(ipAddress: host, port: port), tls: tls, serverName: serverName)
    }

    static func connect(
        to address: SocketAddress,
        tls: TLSConfiguration? = nil,
        serverName: String? = nil,
        timeout: TimeAmount = .seconds(5)
    ) async throws -> WireClient {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let context = try tls.map { configuration in
            var configuration = configuration
            // A truncated connection never sends close_notify, so the wait for it is short.
            configuration.shutdownTimeout = .milliseconds(50)
            return try NIOSSLContext(configuration: configuration)
        }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: serverName)
                        )
                    }
                    try channel.pipeline.syncOperations.addHandler(Receiver(continuation))
                }
            }
            .connect(to: address).get()
        return WireClient(channel: channel, inbound: stream)
    }

    func send(_ bytes: [UInt8]) async throws {
        try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func send(_ text: String) async throws {
        try await self.send(Array(text.utf8))
    }

    /// The bytes up to and including `mark`.
    func receive(through mark: String) async throws -> String {
        try await self.reader.receive { bytes in
            String(decoding: bytes, as: UTF8.self).range(of: mark)
        }
    }

    func receive(count: Int) async throws -> [UInt8] {
        try await self.reader.take { $0.count >= count ? count : nil }
    }

    /// The bytes until the server ends; throws if the connection breaks off.
    func receiveAll() async throws -> [UInt8] {
        try await self.reader.rest()
    }

    func close() async throws {
        try? await self.channel.close().get()
    }

    private actor Reader {
        private let stream: AsyncThrowingStream<[UInt8], any Error>
        private var bytes: [UInt8] = []

        init(_ stream: AsyncThrowingStream<[UInt8], any Error>) { self.stream = stream }

        func receive(_ end: @Sendable ([UInt8]) -> Int?) async throws -> String {
            String(decoding: try await self.take(end), as: UTF8.self)
        }

        func take(_ end: @Sendable ([UInt8]) -> Int?) async throws -> [UInt8] {
            while true {
                if let end = end(self.bytes) {
                    defer { self.bytes.removeFirst(end) }
                    return Array(self.bytes[..<end])
                }
                guard let piece = try await self.piece() else { throw Ended() }
                self.bytes += piece
            }
        }

        func rest() async throws -> [UInt8] {
            while let piece = try await self.piece() { self.bytes += piece }
            defer { self.bytes = [] }
            return self.bytes
        }

        private func piece() async throws -> [UInt8]? {
            var iterator = self.stream.makeAsyncIterator()
            return try await iterator.next(isolation: self)
        }
    }
}

private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.continuation.yield(Array(buffer: Self.unwrapInboundIn(data)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { self.continuation.finish() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.continuation.finish(throwing: error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.continuation.finish() }
}

extension String {
    /// The offset in UTF-8 after the first occurrence of `mark`.
    fileprivate func range(of mark: String) -> Int? {
        let bytes = Array(self.utf8)
        let wanted = Array(mark.utf8)
        guard bytes.count >= wanted.count else { return nil }
        return (0...(bytes.count - wanted.count)).first { bytes[$0..<($0 + wanted.count)].elementsEqual(wanted) }
            .map { $0 + wanted.count }
    }
}
