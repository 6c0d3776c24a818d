public import Curlew

/// An open WebSocket (RFC 6455), inside the closure of `HTTPSession.webSocket`.
///
/// It may be used from several tasks at a time: one reads ``messages``, others send. Messages of several senders do not mix.
public struct WebSocket: Sendable {
    /// The response that opened it, with status 101.
    public let response: CurlewResponse
    /// The subprotocol that the server chose; nil for none.
    public let subprotocol: String?
    /// True if messages are compressed (RFC 7692).
    public let isCompressed: Bool
    let connection: WebSocketConnection
    let dialect: JSONDialect

    // MARK: Receiving

    /// The messages that come, for one reader at a time. The sequence ends when the WebSocket is closed by either side.
    ///
    /// At most ``WebSocketOptions/receiveBufferSize`` of messages wait for the reader; then the socket is not read, and pings are not answered,
    /// until the reader takes some. A sequence that is left and begun anew goes on with the next message.
    ///
    /// It throws ``Curlew/CurlewError``: ``Curlew/ErrorCode/webSocketFailed`` if the peer breaks the protocol, ``Curlew/ErrorCode/connectionLost``,
    /// ``Curlew/ErrorCode/idleTimeout`` for a ping without an answer, ``Curlew/ErrorCode/cancelled``, ``Curlew/ErrorCode/sessionInvalidated``.
    public var messages: WebSocket.Messages { WebSocket.Messages(socket: self) }

    /// The messages in parts, as they come: for messages that are not to be held as a whole. From the first use on, messages are
    /// received in parts; the bounds of ``WebSocketLimits`` hold as before.
    public var parts: WebSocket.Parts { WebSocket.Parts(socket: self) }

    /// The next part; nil at the end.
    func nextPart() async throws -> WebSocket.Part? {
        while true {
            if Task.isCancelled { throw CurlewError.taskCancelled }
            if let (part, resumes) = connection.inbox.take() {
                if resumes { connection.madeRoom() }
                return part
            }
            guard try await connection.waitForPart() else {
                // A cancellation closes the WebSocket, and may be noticed by that first.
                if Task.isCancelled { throw CurlewError.taskCancelled }
                return nil
            }
        }
    }

    // MARK: Sending

    /// Sends a message. It returns when the message is in the send buffer (``WebSocketOptions/sendBufferSize``), and waits for room while the
    /// peer does not read. A message that is larger than ``WebSocketOptions/fragmentSize`` goes out in fragments.
    ///
    /// A task that is cancelled before its message has begun to go out sends nothing of it. A message that has begun is sent as a whole.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketClosed``, ``Curlew/ErrorCode/connectionLost`` or ``Curlew/ErrorCode/cancelled``.
    public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

    /// Sends a value as a message of text, in the session's dialect of JSON (``Curlew/HTTPSession/json``).
    /// - Throws: As ``send(_:)``, and ``Curlew/ErrorCode/encodingFailed``.
    public func send(json value: some Encodable) async throws {
        let bytes: [UInt8]
        do {
            bytes = try dialect.coding.encode(value)
        } catch {
            throw CurlewError(.encodingFailed, "a message cannot be encoded", underlying: error)
        }
        try await send(WebSocketMessage(.text, bytes: bytes))
    }

    /// Sends a message whose bytes come in chunks; each is a fragment. No other message goes out until its end.
    ///
    /// A sequence that throws leaves the message without an end, so the WebSocket is closed with ``WebSocketCloseCode/internalError``.
    /// - Throws: As ``send(_:)``; ``Curlew/ErrorCode/foreignFailure`` with an error of the sequence.
    public func send<Chunks: AsyncSequence>(
        _ kind: WebSocketMessage.Kind, chunks: Chunks
    ) async throws where Chunks.Element == [UInt8] {
        try await connection.takeTurn()
        do {
            try await connection.beginMessage(kind)
            for try await chunk in chunks { try await connection.continueMessage(chunk[...], isLast: false) }
            try await connection.continueMessage([], isLast: true)
        } catch {
            await connection.abandonMessage()
            await connection.endTurn()
            throw CurlewError(wrapping: error)
        }
        await connection.endTurn()
    }

    /// Sends a ping, and waits for the pong. The messages have to be read meanwhile, as the pong comes behind them.
    ///
    /// Pings that find out that a peer is gone are sent by themselves (``WebSocketOptions/pingInterval``).
    /// - Returns: The time that it took.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketClosed``, ``Curlew/ErrorCode/connectionLost`` or ``Curlew/ErrorCode/cancelled``.
    @discardableResult
    public func ping() async throws -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await connection.ping()
        return start.duration(to: clock.now)
    }

    // MARK: Closing

    /// Sends a close frame. Messages that the peer sent before its own close frame are still delivered; nothing more can be sent.
    ///
    /// A WebSocket that is closed or closing stays as it is. The end of the closure closes it, too.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a code that no close frame may carry.
    public func close(_ code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
        guard let status = WebSocketCloseStatus(code, reason: reason) else {
            throw CurlewError(.invalidRequest, "no close frame may carry the code \(code)")
        }
        await connection.close(status)
    }

    /// The end of the WebSocket; nil while it is open or closing.
    public var ending: WebSocketEnding? {
        get async { await connection.ending }
    }
}

extension WebSocket {
    /// The messages of a ``WebSocket``.
    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = WebSocketMessage

        let socket: WebSocket

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

        /// Reads the messages.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let socket: WebSocket

            /// The next message; nil once the WebSocket is closed.
            public mutating func next() async throws -> WebSocketMessage? {
                var collected: [UInt8] = []
                while let part = try await socket.nextPart() {
                    if part.isFirst { collected = part.bytes } else { collected += part.bytes }
                    if part.isLast { return WebSocketMessage(part.kind, bytes: collected, dialect: socket.dialect) }
                }
                return nil
            }
        }
    }

    /// The messages of a ``WebSocket`` in parts.
    public struct Parts: AsyncSequence, Sendable {
        public typealias Element = WebSocket.Part

        let socket: WebSocket

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

        /// Reads the parts.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let socket: WebSocket
            private var hasBegun = false

            init(socket: WebSocket) { self.socket = socket }

            /// The next part; nil once the WebSocket is closed.
            public mutating func next() async throws -> WebSocket.Part? {
                if !hasBegun {
                    hasBegun = true
                    await socket.connection.deliverParts()
                }
                return try await socket.nextPart()
            }
        }
    }
}
