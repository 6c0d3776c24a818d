public import HTTPTypes

/// A stream of server-sent events that reconnects after an interruption (WHATWG HTML §9.2).
///
/// Iteration opens the connection. Each iterator has its own connection, which ends when the iterator is released or
/// the iterating task is cancelled. The events come in the order in which they happen:
/// - ``Event/open``: a response with status 200 and `text/event-stream` arrived;
/// - ``Event/message(_:)``: an event arrived;
/// - ``Event/error(_:isClosed:)``: the stream ended or could not be opened. Either the source reconnects after a delay,
///   with the identifier of the last event in `Last-Event-ID`, or it is closed and the sequence ends.
///
/// A stream that ends or breaks off is connected again. Status 204 means that the server has no more events: the
/// sequence ends without an error. Another status, another media type, an event beyond its bound, and a request that
/// cannot be sent close the source. The error contains the beginning of the body of a refusal, if it arrives within ten
/// seconds.
///
/// A request that is not idempotent, such as a POST, is never sent twice, unless ``RequestOptions/isIdempotent``
/// permits it. The sequence then ends with the stream. A stream that breaks off, or any failure after a connection
/// existed, closes the source. Only a failure to connect is retried. For any request,
/// ``ServerSentEvent/ReconnectionPolicy/reconnectsAfterEnd`` set to false ends the sequence with the stream.
///
/// ```swift
/// for await event in try api.eventSource("prices") {
///     if case .message(let message) = event { print(message.type, message.data) }
/// }
/// ```
public struct EventSource: AsyncSequence, Sendable {
    /// The events of a source.
    public enum Event: Sendable {
        /// The stream is open.
        case open
        /// An event has arrived.
        case message(ServerSentEvent)
        /// The stream has ended, or could not be opened. If it is closed, no event follows.
        case error(CurlewError, isClosed: Bool)
    }

    public typealias Element = Event

    let session: HTTPSession
    let request: CurlewRequest
    /// The delays and the number of reconnections.
    public var reconnection: ServerSentEvent.ReconnectionPolicy
    /// Bounds on lines and events.
    public var limits: ServerSentEvent.Limits
    /// The clock of the waits. An error of the clock closes the source.
    public var clock: any Clock<Duration>

    /// - Parameters:
    ///   - session: The client of the requests.
    ///   - request: The request. `Accept` and `Cache-Control` are added unless it has them. It has no idle timeout and
    ///     no total timeout unless it sets them, because a stream may be silent for long. The usual timeout of the
    ///     response head applies.
    ///   - reconnection: The delays and the number of reconnections.
    ///   - limits: Bounds on lines and events.
    ///   - lastEventID: The identifier to resume from.
    ///   - clock: The clock of the waits.
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

    /// The identifier that the first request resumes from; empty for none.
    public var lastEventID: String

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }

    private static func prepared(_ request: CurlewRequest) -> CurlewRequest {
        var request = request
        if request.fields[.accept] == nil { request.fields[.accept] = "text/event-stream" }
        // The Fetch standard sends `no-cache` for responses that no cache may store; `no-store` would not prevent a
        // cache from answering.
        if request.fields[.cacheControl] == nil { request.fields[.cacheControl] = "no-cache" }
        request.options.idleTimeout = request.options.idleTimeout ?? Timeouts.unlimited
        request.options.totalTimeout = request.options.totalTimeout ?? Timeouts.unlimited
        // Events are current only when they arrive, so they are not stored.
        request.options.isNotStored = true
        return request
    }
}

extension HTTPSession {
    /// A stream of server-sent events that reconnects after an interruption.
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
