extension CurlewWebSocket {
    /// The figures of a WebSocket so far. Its exchange counts the bytes of the connection, with the frames
    /// (``Curlew/TaskMetrics/Attempt``).
    public struct Figures: Sendable, Hashable {
        /// The messages that were given to the send buffer as a whole.
        public internal(set) var sentMessages = 0
        /// The bytes of messages that were given to the send buffer, before compression.
        public internal(set) var sentBytes: Int64 = 0
        /// The messages that have come as a whole, those included that wait for their reader.
        public internal(set) var receivedMessages = 0
        /// The bytes of messages that have come, after decompression.
        public internal(set) var receivedBytes: Int64 = 0
        /// The pings of the peer.
        public internal(set) var receivedPings = 0
        /// The pings that were sent, those of ``CurlewWebSocket/Options/pingInterval`` included.
        public internal(set) var sentPings = 0
    }

    /// The figures of this moment.
    public var figures: Figures {
        get async { await connection.figures }
    }
}
