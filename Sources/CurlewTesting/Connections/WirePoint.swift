#if TestKit
internal import NIOCore

/// A place in the pipeline with a name, from which bytes and closes go out past the layers above it.
final class WirePoint: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Between the socket and TLS.
    static let socket = "curlew.socket"
    /// Between TLS and HTTP.
    static let plain = "curlew.plain"
}
#endif
