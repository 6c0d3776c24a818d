public import Curlew

/// An open WebSocket (RFC 6455), inside the closure of `HTTPSession.webSocket`.
///
/// Several tasks may use it at a time: one task reads ``messages``, and others send. The messages of several senders do
/// not mix.
public struct CurlewWebSocket: Sendable {
    /// The response that opened the WebSocket, with status 101.
    public let response: CurlewResponse
    /// The subprotocol that the server chose; nil for none.
    public let subprotocol: String?
    /// True if messages are compressed (RFC 7692).
    public let isCompressed: Bool
    let connection: WebSocketConnection
    let dialect: JSONDialect

    // MARK: Receiving

    /// The received messages, for one reader at a time. The sequence ends when either side closes the WebSocket.
    ///
    /// At most ``CurlewWebSocket/Options/receiveBufferSize`` of messages is buffered for the reader. At this size the
    /// socket is not read, and pings are not answered, until the reader takes messages. A new iterator continues with
    /// the next message.
    ///
    /// It throws ``Curlew/CurlewError`` with one of these codes:
    ///
    /// - ``Curlew/ErrorCode/webSocketFailed`` if the peer violates the protocol
    /// - ``Curlew/ErrorCode/idleTimeout`` if the peer does not answer a ping
    /// - ``Curlew/ErrorCode/connectionLost``, ``Curlew/ErrorCode/cancelled``, ``Curlew/ErrorCode/sessionInvalidated``
    public var messages: CurlewWebSocket.Messages { CurlewWebSocket.Messages(socket: self) }

    /// The received messages in parts, for messages that are too large for memory. After the first use of this
    /// property, messages are received in parts; the bounds of ``CurlewWebSocket/Limits`` still apply.
    ///
    /// A reader may stop in the middle of a message. A later reader of parts then continues with the next part, and
    /// ``messages`` skips the rest of that message.
    public var parts: CurlewWebSocket.Parts { CurlewWebSocket.Parts(socket: self) }

    // MARK: Sending

    /// Sends a message. The method returns when the message is in the send buffer
    /// (``CurlewWebSocket/Options/sendBufferSize``), and waits for room while the peer does not read. A message larger
    /// than ``CurlewWebSocket/Options/fragmentSize`` is sent in fragments.
    ///
    /// A task that is cancelled before its message has begun sends nothing of it. A message that has begun is sent
    /// completely, within ``CurlewWebSocket/Options/closeTimeout`` after the cancellation. Beyond this time the
    /// WebSocket is closed with ``CurlewWebSocket/CloseCode/internalError``, because no message can follow an
    /// incomplete one.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketClosed``, ``Curlew/ErrorCode/connectionLost``
    ///   or ``Curlew/ErrorCode/cancelled``.
    public func send(_ message: CurlewWebSocket.Message) async throws { try await connection.send(message) }

    /// Sends a value as a text message, in the session's dialect of JSON (``Curlew/HTTPSession/json``).
    /// - Throws: The errors of ``send(_:)``, and ``Curlew/ErrorCode/encodingFailed``.
    public func send(json value: some Encodable) async throws {
        let bytes: [UInt8]
        do {
            bytes = try dialect.coding.encode(value)
        } catch {
            throw CurlewError(.encodingFailed, "a message cannot be encoded", underlying: error)
        }
        try await send(CurlewWebSocket.Message(.text, bytes: bytes))
    }

    /// Sends a message from a sequence of chunks. A chunk is sent as one fragment, or as several if it is larger than
    /// ``CurlewWebSocket/Options/fragmentSize``. Other messages wait for the end of this message.
    ///
    /// If the sequence throws or the task is cancelled, the message stays incomplete. The WebSocket is then closed with
    /// ``CurlewWebSocket/CloseCode/internalError``.
    /// - Throws: The errors of ``send(_:)``; ``Curlew/ErrorCode/foreignFailure`` for an error of the sequence.
    public func send<Chunks: AsyncSequence>(
        _ kind: CurlewWebSocket.Message.Kind, chunks: Chunks
    ) async throws where Chunks.Element == [UInt8] {
        try await connection.takeTurn()
        do {
            try await connection.beginMessage(kind)
            for try await chunk in chunks { try await connection.continueMessage(chunk[...], isLast: false) }
            // Some sequences end without an error when their task is cancelled.
            if Task.isCancelled { throw CurlewError.taskCancelled }
            try await connection.continueMessage([], isLast: true)
        } catch {
            await connection.abandonMessage()
            await connection.endTurn()
            throw CurlewError(wrapping: error)
        }
        await connection.endTurn()
    }

    /// Sends a ping, and waits for the pong. A task must read the messages meanwhile, because the pong arrives after
    /// them.
    ///
    /// The pings that detect a lost peer are sent automatically (``CurlewWebSocket/Options/pingInterval``).
    /// - Returns: The time from the ping to the pong.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/webSocketClosed``, ``Curlew/ErrorCode/connectionLost``
    ///   or ``Curlew/ErrorCode/cancelled``.
    @discardableResult
    public func ping() async throws -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await connection.ping()
        return start.duration(to: clock.now)
    }

    // MARK: Closing

    /// Sends a close frame. No message can be sent after it. Messages that the peer sent before its own close frame are
    /// still delivered.
    ///
    /// The call has no effect on a WebSocket that is closed or closing. The end of the closure also closes the
    /// WebSocket.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a code that no close frame may
    ///   carry.
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
