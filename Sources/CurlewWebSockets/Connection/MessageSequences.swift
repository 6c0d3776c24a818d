internal import Curlew

extension CurlewWebSocket {
    /// The messages of a ``CurlewWebSocket``.
    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = CurlewWebSocket.Message

        let socket: CurlewWebSocket

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

        /// Reads the messages.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let socket: CurlewWebSocket

            /// The next message; nil once the WebSocket is closed.
            public mutating func next() async throws -> CurlewWebSocket.Message? {
                while let part = try await socket.connection.nextPart() {
                    if let collected = socket.connection.inbox.collect(part) {
                        return CurlewWebSocket.Message(part.kind, bytes: collected, dialect: socket.dialect)
                    }
                }
                return nil
            }
        }
    }

    /// The messages of a ``CurlewWebSocket`` in parts.
    public struct Parts: AsyncSequence, Sendable {
        public typealias Element = CurlewWebSocket.Part

        let socket: CurlewWebSocket

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

        /// Reads the parts.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let socket: CurlewWebSocket
            private var hasBegun = false

            init(socket: CurlewWebSocket) { self.socket = socket }

            /// The next part; nil once the WebSocket is closed.
            public mutating func next() async throws -> CurlewWebSocket.Part? {
                if !hasBegun {
                    hasBegun = true
                    await socket.connection.deliverParts()
                }
                return try await socket.connection.nextPart().map { socket.connection.inbox.extend($0) }
            }
        }
    }

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
