extension CurlewWebSocket {
    /// A part of a message, as it was received.
    public struct Part: Sendable, Hashable {
        /// The kind of the message.
        public let kind: CurlewWebSocket.Message.Kind
        /// The bytes. The parts of a text are valid UTF-8 together. A single part may end inside a character.
        public let bytes: [UInt8]
        /// True for the first part of a message.
        public let isFirst: Bool
        /// True for the last part of a message, which may be empty.
        public let isLast: Bool
    }
}
