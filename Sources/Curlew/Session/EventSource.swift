public import HTTPTypes

/// A stream of server-sent events that connects again when it breaks off (WHATWG HTML §9.2).
///
/// Iterating connects; each iterator has a connection of its own, and dropping it, or cancelling the task that iterates,
/// ends it. Its events come in the order in which they happen:
/// - ``Event/open``: a response with status 200 and `text/event-stream` has come;
/// - ``Event/message(_:)``: an event;
/// - ``Event/error(_:isClosed:)``: the stream ended or could not be had. Either it is connected again after a while, with
///   the identifier of the last event in `Last-Event-ID`, or the source is closed and the sequence ends.
///
/// Connected again is what ended or broke off on the way. A status of 204 is a server's word that there is no more: the sequence ends
/// without an error. Another status, another media type, an event beyond its bound and a request that cannot be sent close the
/// source. The error has the beginning of the body with which a server refuses, if that comes within ten seconds.
///
/// A request that is not idempotent, such as a POST, is never sent twice, unless ``RequestOptions/isIdempotent`` says that it may be:
/// the sequence ends with the stream, a stream that breaks off closes the source, and so does a failure after there was a
/// connection. Only where there never was one is it tried again. ``ServerSentEvent/ReconnectionPolicy/reconnectsAfterEnd`` set to
/// false makes the end of a stream that of the sequence for any request.
///
/// ```swift
/// for await event in try api.eventSource("prices") {
///     if case .message(let message) = event { print(message.type, message.data) }
/// }
/// ```
public struct EventSource: AsyncSequence, Sendable {
    /// What happens to a source.
    public enum Event: Sendable {
        /// The stream is open.
        case open
        /// An event has come.
        case message(ServerSentEvent)
        /// The stream is not open any more, or could not be opened. If it is closed, nothing follows.
        case error(CurlewError, isClosed: Bool)
    }

    public typealias Element = Event

    let session: HTTPSession
    let request: CurlewRequest
    /// When to connect again.
    public var reconnection: ServerSentEvent.ReconnectionPolicy
    /// Bounds on lines and events.
    public var limits: ServerSentEvent.Limits
    /// What measures the waits.
    public var clock: any Clock<Duration>

    /// - Parameters:
    ///   - session: What carries the requests.
    ///   - request: The request. `Accept` and `Cache-Control` are added unless it has them. It has no idle
    ///     and no total timeout unless it sets them, as a stream may be silent for long; its head has to come as any other.
    ///   - reconnection: When to connect again.
    ///   - limits: Bounds on lines and events.
    ///   - lastEventID: The identifier to resume from.
    ///   - clock: What measures the waits.
    public init(
        _ session: HTTPSession, _ request: CurlewRequest,
        reconnection: ServerSentEvent.ReconnectionPolicy = ServerSentEvent.ReconnectionPolicy(),
        limits: ServerSentEvent.Limits = ServerSentEvent.Limits(), lastEventID: String = "",
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.session = session
        self.request = Self.prepared(request)
        self.reconnection = reconnection
        self.limits = limits
        self.lastEventID = lastEventID
        self.clock = clock
    }

    /// The identifier that the first request asks to resume from; none if it is empty.
    public var lastEventID: String

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }

    private static func prepared(_ request: CurlewRequest) -> CurlewRequest {
        var request = request
        if request.fields[.accept] == nil { request.fields[.accept] = "text/event-stream" }
        // The Fetch standard sends `no-cache` for requests whose responses no cache may store: `no-store` would stop no cache on the
        // way from answering.
        if request.fields[.cacheControl] == nil { request.fields[.cacheControl] = "no-cache" }
        request.options.idleTimeout = request.options.idleTimeout ?? Timeouts.unlimited
        request.options.totalTimeout = request.options.totalTimeout ?? Timeouts.unlimited
        // Events are of the moment.
        request.options.cachePolicy = request.options.cachePolicy ?? .noStore
        return request
    }
}

extension HTTPSession {
    /// A stream of server-sent events that connects again when it breaks off.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` for a reference that cannot be resolved.
    public func eventSource(
        _ reference: URIReference, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        reconnection: ServerSentEvent.ReconnectionPolicy = ServerSentEvent.ReconnectionPolicy(),
        limits: ServerSentEvent.Limits = ServerSentEvent.Limits(), lastEventID: String = "",
        clock: any Clock<Duration> = ContinuousClock()
    ) throws -> EventSource {
        let request = CurlewRequest(.get, try resolve(reference), fields: fields, options: options)
        return EventSource(
            self, request, reconnection: reconnection, limits: limits, lastEventID: lastEventID, clock: clock)
    }
}
