public import Curlew
public import HTTPTypes

/// A sequence of the states and the messages of a WebSocket that is opened again after a failure.
///
/// Each iterator opens its own WebSocket. The end of the iterator, or of its task, closes that WebSocket with
/// ``CurlewWebSocket/CloseCode/goingAway``. Between two calls of the iterator, at most
/// ``CurlewWebSocket/Options/receiveBufferSize`` of messages is buffered.
///
/// - Another attempt follows a lost connection, an idle timeout and a temporary failure of the handshake, after a wait
///   of ``policy``. Temporary failures are the errors of ``Curlew/CurlewError/isTransient`` and the statuses 408, 429,
///   500, 502, 503 and 504.
/// - A close frame of the peer ends the sequence, unless its code reports that the server restarts, is overloaded or
///   failed: 1001, 1011, 1012, 1013 and 1014. ``reconnects`` can replace this rule.
/// - Every other end is final: a close by the application, answered or not, a violation of the protocol, another
///   status, a request that cannot be sent, and a session that was shut down.
///
/// ```swift
/// let source = api.webSocketSource("prices") { last in
///     var handshake = WebSocketSource.Handshake()
///     if let last { handshake.query = ["after": try last.json(as: Price.self).id] }
///     return handshake
/// }
/// for await event in source {
///     if case .message(let message) = event { print(try message.json(as: Price.self)) }
/// }
/// ```
public struct WebSocketSource: AsyncSequence, Sendable {
    /// An event of a source.
    public enum Event: Sendable {
        /// A handshake begins.
        case connecting
        /// The WebSocket is open. Messages can be sent over it until it is closed.
        case open(CurlewWebSocket)
        /// A message.
        case message(CurlewWebSocket.Message)
        /// The WebSocket has ended or could not be opened.
        case closed(Closing)
    }

    /// The end of a WebSocket of a source.
    public struct Closing: Sendable {
        /// The end of the WebSocket; nil if the WebSocket could not be opened.
        public let ending: CurlewWebSocket.Ending?
        /// The error; nil if the peer closed the WebSocket.
        public let error: CurlewError?
        /// The wait before the next attempt; nil if no attempt follows. The sequence then ends.
        public let wait: Duration?
    }

    /// The part of a handshake that differs between attempts, such as the position to continue from.
    public struct Handshake: Sendable {
        /// Parameters for the query of the URL.
        public var query: RequestParameters
        /// Fields that replace the source's fields of the same names.
        public var fields: HTTPFields

        /// Makes the part of a handshake.
        public init(query: RequestParameters = .none, fields: HTTPFields = HTTPFields()) {
            self.query = query
            self.fields = fields
        }
    }

    /// A closure that makes the variable part of the next handshake from the last message, which is nil before the
    /// first one. An error of the closure counts as an error of the handshake.
    public typealias Cursor = @Sendable (_ last: CurlewWebSocket.Message?) async throws -> Handshake

    public typealias Element = Event

    let session: HTTPSession
    let reference: URIReference
    /// The subprotocols to offer, the preferred one first.
    public var protocols: [String] = []
    /// Fields of each handshake.
    public var fields = HTTPFields()
    /// The credential for the field Authorization of each handshake.
    public var credential: Credential?
    /// The bounds and times of each WebSocket.
    public var options = CurlewWebSocket.Options()
    /// The options of each handshake.
    public var requestOptions = RequestOptions()
    /// The waits, and the maximum number of consecutive failed attempts. A WebSocket that has received a message, or
    /// was open for ten seconds, counts as a success. 10 attempts, waits from 1 s to 60 s, and no limit of time by
    /// default.
    public var policy = Retry.Policy(
        attempts: 10, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(60)), totalTime: Timeouts.unlimited)
    /// A closure that returns true if a WebSocket with this ending is opened again.
    public var reconnects: @Sendable (CurlewWebSocket.Ending) -> Bool = { WebSocketSource.reconnectsByDefault($0) }
    /// The clock that measures the waits. An error of the clock closes the source.
    public var clock: any Clock<Duration> = ContinuousClock()
    let cursor: Cursor

    /// - Parameters:
    ///   - session: The session that carries the WebSockets.
    ///   - reference: The URL.
    ///   - cursor: A closure that makes the variable part of each handshake.
    public init(
        _ session: HTTPSession, _ reference: URIReference, cursor: @escaping Cursor = { _ in Handshake() }
    ) {
        self.session = session
        self.reference = reference
        self.cursor = cursor
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }

    /// The default rule of ``reconnects``.
    public static func reconnectsByDefault(_ ending: CurlewWebSocket.Ending) -> Bool {
        switch ending.cause {
        case .connectionLost, .timedOut: ending.sent == nil
        case .idle: true
        case .violation, .closedLocally: false
        case .closedByPeer:
            switch ending.code {
            case .goingAway, .internalError, .serviceRestart, .tryAgainLater, .badGateway: true
            default: false
            }
        }
    }
}

extension HTTPSession {
    /// Makes a WebSocket that is opened again after a failure.
    /// - Parameters:
    ///   - reference: The URL; `ws` and `wss` stand for `http` and `https`.
    ///   - protocols: The subprotocols to offer, the preferred one first.
    ///   - fields: Fields of each handshake.
    ///   - credential: The credential for the field Authorization of each handshake.
    ///   - options: The bounds and times of each WebSocket.
    ///   - requestOptions: The options of each handshake.
    ///   - cursor: A closure that makes the variable part of the next handshake from the last message.
    public func webSocketSource(
        _ reference: URIReference, protocols: [String] = [], fields: HTTPFields = HTTPFields(),
        credential: Credential? = nil, options: CurlewWebSocket.Options = CurlewWebSocket.Options(),
        requestOptions: RequestOptions = RequestOptions(),
        cursor: @escaping WebSocketSource.Cursor = { _ in WebSocketSource.Handshake() }
    ) -> WebSocketSource {
        var source = WebSocketSource(self, reference, cursor: cursor)
        source.protocols = protocols
        source.fields = fields
        source.credential = credential
        source.options = options
        source.requestOptions = requestOptions
        return source
    }
}
