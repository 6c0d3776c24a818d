#if TestKit
internal import NIOCore

/// A named position in the pipeline. Bytes and closes written there bypass the layers above it.
final class WirePoint: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The position between the socket and TLS.
    static let socket = "curlew.socket"
    /// The position between TLS and HTTP.
    static let plain = "curlew.plain"
}
#endif
