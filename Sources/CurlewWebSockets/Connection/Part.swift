extension CurlewWebSocket {
    /// A part of a message: as many of its bytes as have come.
    public struct Part: Sendable, Hashable {
        /// The kind of the message.
        public let kind: CurlewWebSocket.Message.Kind
        /// The bytes. Those of a text are UTF-8 as a whole; a part may end inside of a character.
        public let bytes: [UInt8]
        /// True for the first part of a message.
        public let isFirst: Bool
        /// True for the last part of a message, which may be empty.
        public let isLast: Bool
    }
}
