#if TestKit
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

extension Channel {
    /// Sends RST_STREAM on an HTTP/2 stream's channel.
    func resetStream(code: UInt32) {
        self.eventLoop.execute {
            let codec = try? self.pipeline.syncOperations.context(
                handlerType: HTTP2FramePayloadToHTTP1ServerCodec.self
            )
            let payload = HTTP2Frame.FramePayload.rstStream(HTTP2ErrorCode(networkCode: Int(code)))
            codec?.writeAndFlush(NIOAny(payload), promise: nil)
        }
    }
}

extension AcceptedConnection {
    /// Sends GOAWAY on an HTTP/2 connection: streams up to `lastStream` are still answered.
    func sendGoAway(code: UInt32, lastStream: Int = Int(Int32.max)) {
        let payload = HTTP2Frame.FramePayload.goAway(
            lastStreamID: HTTP2StreamID(lastStream),
            errorCode: HTTP2ErrorCode(networkCode: Int(code)),
            opaqueData: nil
        )
        self.channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload), promise: nil)
    }
}
#endif
