extension CurlewWebSocket {
    /// The figures of a WebSocket so far. ``Curlew/TaskMetrics/Attempt`` counts the bytes of the connection, including
    /// the headers of frames.
    public struct Figures: Sendable, Hashable {
        /// The messages that were completely written to the send buffer.
        public internal(set) var sentMessages = 0
        /// The bytes of messages that were written to the send buffer, before compression.
        public internal(set) var sentBytes: Int64 = 0
        /// The messages that were completely received, including those that wait for the reader.
        public internal(set) var receivedMessages = 0
        /// The received bytes of messages, after decompression.
        public internal(set) var receivedBytes: Int64 = 0
        /// The received pings.
        public internal(set) var receivedPings = 0
        /// The sent pings, including those of ``CurlewWebSocket/Options/pingInterval``.
        public internal(set) var sentPings = 0
    }

    /// The present figures.
    public var figures: Figures {
        get async { await connection.figures }
    }
}
