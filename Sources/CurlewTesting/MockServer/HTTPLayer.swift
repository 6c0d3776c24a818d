#if TestKit
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// The HTTP part of a connection's pipeline.
enum HTTPLayer: Sendable {
    case http1(ServerPort)
    case http2(NIOHTTP2Handler.AsyncStreamMultiplexer<ServerPort>)

    static func http1(on connection: AcceptedConnection) throws -> HTTPLayer {
        let channel = connection.channel
        var encoder = HTTPResponseEncoder.Configuration()
        encoder.automaticallySetFramingHeaders = false
        let scanner = WireScanner(ChunkScanner(), ledger: connection.chunks)
        try channel.pipeline.syncOperations.addHandler(scanner)
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: true,
            withOutboundHeaderValidation: false,
            withEncoderConfiguration: encoder
        )
        return .http1(try ServerPort(installingOn: channel))
    }

    static func http2(
        on connection: AcceptedConnection,
        _ configuration: MockServer.Configuration
    ) throws -> HTTPLayer {
        let channel = connection.channel
        let scanner = WireScanner(FrameScanner(), ledger: connection.chunks)
        try channel.pipeline.syncOperations.addHandler(scanner)
        var settings = NIOHTTP2Handler.Configuration()
        settings.connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: configuration.concurrentStreams),
            HTTP2Setting(parameter: .initialWindowSize, value: configuration.windowSize),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 20),
        ]
        settings.connection.targetWindowSize = configuration.windowSize
        settings.stream.targetWindowSize = configuration.windowSize
        settings.stream.outboundBufferSizeHighWatermark = PortLimits.bytesInFlight
        settings.stream.outboundBufferSizeLowWatermark = PortLimits.bytesInFlight / 2
        // Tests cancel hundreds of requests, and NIO's default limits are against attackers. Each connection reserves
        // memory for this many frames.
        settings.connection.controlFrameRateLimit.maximumCount = 10_000
        settings.stream.streamResetFrameRateLimit.maximumCount = 10_000
        settings.stream.streamErrorRateLimit.maximumCount = 10_000
        let multiplexer = try channel.pipeline.syncOperations.configureAsyncHTTP2Pipeline(
            mode: .server,
            configuration: settings
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                return try ServerPort(installingOn: stream)
            }
        }
        try channel.pipeline.syncOperations.addHandler(ConnectionErrorCloser())
        return .http2(multiplexer)
    }
}

/// Closes an HTTP/2 connection after the GOAWAY of a connection error (RFC 9113, section 5.4.1), because SwiftNIO
/// leaves it open.
private final class ConnectionErrorCloser: ChannelInboundHandler {
    typealias InboundIn = Any

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(error)
        if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
    }
}
#endif
