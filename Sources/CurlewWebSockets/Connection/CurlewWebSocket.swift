public import Curlew

/// An open WebSocket (RFC 6455), inside the closure of `HTTPSession.webSocket`.
///
/// It may be used from several tasks at a time: one reads ``messages``, others send. Messages of several senders do not mix.
public struct CurlewWebSocket: Sendable {
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
    /// At most ``CurlewWebSocket/Options/receiveBufferSize`` of messages wait for the reader; then the socket is not read, and pings are not answered,
    /// until the reader takes some. A sequence that is left and begun anew goes on with the next message.
    ///
    /// It throws ``Curlew/CurlewError``: ``Curlew/ErrorCode/webSocketFailed`` if the peer breaks the protocol, ``Curlew/ErrorCode/connectionLost``,
    /// ``Curlew/ErrorCode/idleTimeout`` for a ping without an answer, ``Curlew/ErrorCode/cancelled``, ``Curlew/ErrorCode/sessionInvalidated``.
    public var messages: CurlewWebSocket.Messages { CurlewWebSocket.Messages(socket: self) }

    /// The messages in parts, as they come: for messages that are not to be held as a whole. From the first use on, messages are
    /// received in parts; the bounds of ``CurlewWebSocket/Limits`` hold as before. The rest of a message whose parts are left in its middle is skipped
    /// by ``messages``, and the next part of a later reader of parts.
    public var parts: CurlewWebSocket.Parts { CurlewWebSocket.Parts(socket: self) }

    /// The next part; nil at the end.
    func nextPart() async throws -> CurlewWebSocket.Part? {
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

    /// Sends a message. It returns when the message is in the send buffer (``CurlewWebSocket/Options/sendBufferSize``), and waits for room while the
    /// peer does not read. A message that is larger than ``CurlewWebSocket/Options/fragmentSize`` goes out in fragments.
    ///
    /// A task that is cancelled before its message has begun to go out sends nothing of it. A message that has begun is sent as a whole, unless that takes
    /// longer than ``CurlewWebSocket/Options/closeTimeout`` from the cancellation on: then the WebSocket is closed with
    /// ``CurlewWebSocket/CloseCode/internalError``, as a message without an end cannot be followed by another.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketClosed``, ``Curlew/ErrorCode/connectionLost`` or ``Curlew/ErrorCode/cancelled``.
    public func send(_ message: CurlewWebSocket.Message) async throws { try await connection.send(message) }

    /// Sends a value as a message of text, in the session's dialect of JSON (``Curlew/HTTPSession/json``).
    /// - Throws: As ``send(_:)``, and ``Curlew/ErrorCode/encodingFailed``.
    public func send(json value: some Encodable) async throws {
        let bytes: [UInt8]
        do {
            bytes = try dialect.coding.encode(value)
        } catch {
            throw CurlewError(.encodingFailed, "a message cannot be encoded", underlying: error)
        }
        try await send(CurlewWebSocket.Message(.text, bytes: bytes))
    }

    /// Sends a message whose bytes come in chunks; each is a fragment, or several if it is larger than ``CurlewWebSocket/Options/fragmentSize``. No other
    /// message goes out until its end.
    ///
    /// A sequence that throws, and a task that is cancelled, leave the message without an end, so the WebSocket is closed with ``CurlewWebSocket/CloseCode/internalError``.
    /// - Throws: As ``send(_:)``; ``Curlew/ErrorCode/foreignFailure`` with an error of the sequence.
    public func send<Chunks: AsyncSequence>(
        _ kind: CurlewWebSocket.Message.Kind, chunks: Chunks
    ) async throws where Chunks.Element == [UInt8] {
        try await connection.takeTurn()
        do {
            try await connection.beginMessage(kind)
            for try await chunk in chunks { try await connection.continueMessage(chunk[...], isLast: false) }
            // Some sequences end where their task is cancelled, as if they had no more.
            if Task.isCancelled { throw CurlewError.taskCancelled }
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
    /// Pings that find out that a peer is gone are sent by themselves (``CurlewWebSocket/Options/pingInterval``).
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
    public func close(_ code: CurlewWebSocket.CloseCode = .normalClosure, reason: String = "") async throws {
        guard let status = CurlewWebSocket.CloseStatus(code, reason: reason) else {
            throw CurlewError(.invalidRequest, "no close frame may carry the code \(code)")
        }
        await connection.close(status)
    }

    /// The end of the WebSocket; nil while it is open or closing.
    public var ending: CurlewWebSocket.Ending? {
        get async { await connection.ending }
    }
}

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
                while let part = try await socket.nextPart() {
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
                return try await socket.nextPart().map { socket.connection.inbox.extend($0) }
            }
        }
    }
}
