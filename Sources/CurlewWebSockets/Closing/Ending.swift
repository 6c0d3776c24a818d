extension CurlewWebSocket {
    /// The end of a WebSocket: its cause, and the close frames that were sent and received.
    public struct Ending: Sendable, Hashable {
        /// The event that started the end.
        public enum Cause: Sendable, Hashable {
            /// This endpoint sent the first close frame.
            case closedLocally
            /// The peer sent the first close frame.
            case closedByPeer
            /// The peer violated the protocol or exceeded a limit. The text describes the violation.
            case violation(String)
            /// The connection ended without a close frame from the peer.
            case connectionLost
            /// The peer did not answer the close frame in time.
            case timedOut
            /// This endpoint sent the first close frame, because no message was sent or received within
            /// ``CurlewWebSocket/Options/idleTimeout``.
            case idle
        }

        /// The cause.
        public let cause: CurlewWebSocket.Ending.Cause
        /// The close frame of this endpoint; nil if it sent none.
        public let sent: CurlewWebSocket.CloseStatus?
        /// The close frame of the peer; nil if none was received.
        public let received: CurlewWebSocket.CloseStatus?

        /// The code of the peer's close frame (RFC 6455 §7.1.5). It is ``CurlewWebSocket/CloseCode/noStatusReceived``
        /// if that frame had no code, and ``CurlewWebSocket/CloseCode/abnormalClosure`` if the peer sent no close
        /// frame.
        public var code: CurlewWebSocket.CloseCode { received?.code ?? .abnormalClosure }

        /// True if both close frames were exchanged (RFC 6455 §7.1.4).
        public var isClean: Bool { sent != nil && received != nil }
    }
}
