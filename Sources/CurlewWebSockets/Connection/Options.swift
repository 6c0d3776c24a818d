public import Curlew

extension CurlewWebSocket {
    /// The options of a WebSocket.
    ///
    /// By default, a WebSocket answers pings, detects a lost peer within a minute, and compresses nothing. It buffers
    /// at most about 128 KiB, in addition to the message that is being received.
    public struct Options: Sendable {
        /// Bounds on the messages that are received.
        public var limits: CurlewWebSocket.Limits
        /// The compression to offer. nil, the default, offers none.
        public var compression: CurlewWebSocket.Compression?
        /// The size of the messages that wait for their reader. At this size the socket is not read. The message that
        /// reaches the size is kept completely. 64 KiB by default.
        public var receiveBufferSize: ByteSize
        /// The size of the frames that wait for the peer. At this size ``CurlewWebSocket/send(_:)`` waits. 64 KiB by
        /// default.
        public var sendBufferSize: ByteSize
        /// The maximum number of a message's bytes in a frame. A larger message is sent in several frames, its
        /// fragments. 64 KiB by default.
        public var fragmentSize: ByteSize
        /// The time without a byte from the peer after which a ping is sent. 30 seconds by default; nil sends no pings.
        public var pingInterval: Duration?
        /// The time limit for a byte from the peer after a ping. Beyond it, the connection counts as lost. 30 seconds
        /// by default. The time does not run while the socket is not read because the receive buffer is full.
        public var pongTimeout: Duration
        /// The time limit from the first close frame to the end of the connection. 5 seconds by default.
        public var closeTimeout: Duration
        /// The time without a message in either direction after which the WebSocket is closed with
        /// ``CurlewWebSocket/CloseCode/goingAway``. nil, the default, means no limit.
        public var idleTimeout: Duration?

        /// Makes options; each is described at its property.
        public init(
            limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(), compression: CurlewWebSocket.Compression? = nil,
            receiveBufferSize: ByteSize = .kibibytes(64), sendBufferSize: ByteSize = .kibibytes(64),
            fragmentSize: ByteSize = .kibibytes(64), pingInterval: Duration? = .seconds(30),
            pongTimeout: Duration = .seconds(30), closeTimeout: Duration = .seconds(5), idleTimeout: Duration? = nil
        ) {
            self.limits = limits
            self.compression = compression
            self.receiveBufferSize = receiveBufferSize
            self.sendBufferSize = sendBufferSize
            self.fragmentSize = fragmentSize
            self.pingInterval = pingInterval
            self.pongTimeout = pongTimeout
            self.closeTimeout = closeTimeout
            self.idleTimeout = idleTimeout
        }

        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a size or a time that is zero
        ///   or negative.
        func check() throws {
            for (size, name) in [
                (receiveBufferSize, "receiveBufferSize"), (sendBufferSize, "sendBufferSize"),
                (fragmentSize, "fragmentSize"),
                (limits.messageSize, "messageSize"), (limits.frameSize, "frameSize"),
            ] where size.bytes <= 0 {
                throw CurlewError(.invalidRequest, "\(name) of a WebSocket is not above zero")
            }
            for (time, name) in [
                (pingInterval, "pingInterval"), (pongTimeout, "pongTimeout"), (closeTimeout, "closeTimeout"),
                (idleTimeout, "idleTimeout"),
            ] {
                guard let time, time <= .zero else { continue }
                throw CurlewError(.invalidRequest, "\(name) of a WebSocket is not above zero")
            }
        }
    }
}
