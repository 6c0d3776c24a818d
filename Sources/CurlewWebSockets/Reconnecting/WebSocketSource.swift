public import Curlew
public import HTTPTypes

/// A WebSocket that is opened again when it breaks off: its states and its messages in one sequence.
///
/// Iterating opens it; each iterator has a WebSocket of its own, and the end of the iterator, or of its task, closes that with
/// ``CurlewWebSocket/CloseCode/goingAway``. Nothing waits while nobody iterates but the messages that ``CurlewWebSocket/Options/receiveBufferSize`` admits.
///
/// - A connection that is lost, a WebSocket that was idle for too long, and a handshake whose failure may pass (``Curlew/CurlewError/isTransient``, and a status of 408, 429, 500, 502, 503
///   or 504) are followed by another attempt, after a wait of ``policy``.
/// - A close frame of the peer is the end of the sequence, unless its code says that the server restarts, is overloaded or failed: 1001, 1011, 1012,
///   1013 and 1014. ``reconnects`` decides otherwise.
/// - Everything else is the end: a close of one's own, answered or not, a violation of the protocol, another status, a request that cannot be sent, a session that was shut down.
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
        /// The WebSocket is open; messages can be sent over it until it is closed.
        case open(CurlewWebSocket)
        /// A message.
        case message(CurlewWebSocket.Message)
        /// The WebSocket is not open any more, or could not be opened.
        case closed(Closing)
    }

    /// The end of a WebSocket of a source.
    public struct Closing: Sendable {
        /// The end of the WebSocket; nil if it could not be opened.
        public let ending: CurlewWebSocket.Ending?
        /// The fault; nil if the peer closed the WebSocket.
        public let error: CurlewError?
        /// The wait before it is opened again; nil if it is not, and then the sequence ends.
        public let wait: Duration?
    }

    /// The part of a handshake that differs from one to the next, such as the place to go on from.
    public struct Handshake: Sendable {
        /// Parameters for the query of the URL.
        public var query: RequestParameters
        /// Fields, in the place of those of the source with the same names.
        public var fields: HTTPFields

        /// Makes the part of a handshake.
        public init(query: RequestParameters = .none, fields: HTTPFields = HTTPFields()) {
            self.query = query
            self.fields = fields
        }
    }

    /// Makes the part of the next handshake, from the last message; nil before the first. An error ends the sequence.
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
    /// The waits, and the most attempts in a row that may fail. A WebSocket that has brought a message, or was open for ten seconds, counts as a
    /// success. 10 attempts, waits from 1 s to 60 s, and no limit of time by default.
    public var policy = Retry.Policy(
        attempts: 10, backoff: Retry.Backoff(base: .seconds(1), maximum: .seconds(60)), totalTime: Timeouts.unlimited)
    /// True if a WebSocket that has ended so is opened again.
    public var reconnects: @Sendable (CurlewWebSocket.Ending) -> Bool = { WebSocketSource.reconnectsByDefault($0) }
    /// Measures the waits.
    public var clock: any Clock<Duration> = ContinuousClock()
    let cursor: Cursor

    /// - Parameters:
    ///   - session: The session that carries the WebSockets.
    ///   - reference: The URL.
    ///   - cursor: Makes the part of a handshake that differs from one to the next.
    public init(
        _ session: HTTPSession, _ reference: URIReference, cursor: @escaping Cursor = { _ in Handshake() }
    ) {
        self.session = session
        self.reference = reference
        self.cursor = cursor
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }

    /// The rule of ``reconnects`` unless another is set.
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
    /// A WebSocket that is opened again when it breaks off.
    /// - Parameters:
    ///   - reference: The URL; `ws` and `wss` stand for `http` and `https`.
    ///   - protocols: The subprotocols to offer, the preferred one first.
    ///   - fields: Fields of each handshake.
    ///   - credential: The credential for the field Authorization of each handshake.
    ///   - options: The bounds and times of each WebSocket.
    ///   - requestOptions: The options of each handshake.
    ///   - cursor: Makes the part of the next handshake, from the last message.
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
