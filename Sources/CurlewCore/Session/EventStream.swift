public import HTTPTypes

extension HTTPSession {
    /// The treatment of a stream element that cannot be decoded.
    public struct MalformedElements: Sendable, Hashable {
        let areSkipped: Bool

        /// Throws ``ErrorCode/decodingFailed`` with the position of the element. The next read continues with the next
        /// element. The default.
        public static let fail = HTTPSession.MalformedElements(areSkipped: false)
        /// Skips the element.
        public static let skip = HTTPSession.MalformedElements(areSkipped: true)
    }
}

extension HTTPSession {
    /// The events of a `text/event-stream` as values, read on demand.
    ///
    /// Iteration opens the connection, and reconnects after an interruption, as ``EventSource`` does: a POST is never
    /// sent again after a response. The sequence ends when the server declares that there are no more events, and
    /// throws if it cannot be opened. Cancelling the iterating task ends it with ``ErrorCode/cancelled``.
    public struct EventStream<Value: Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value

        let source: Result<EventSource, any Error>
        let decode: @Sendable (ServerSentEvent) throws -> Value
        let endMarker: String?
        let malformed: HTTPSession.MalformedElements

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(source: source.map { $0.makeAsyncIterator() }, stream: self)
        }

        /// Yields the values.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var source: Result<EventSource.AsyncIterator, any Error>
            private let stream: EventStream
            private var number = 0
            private var isAtEnd = false

            init(source: Result<EventSource.AsyncIterator, any Error>, stream: EventStream) {
                self.source = source
                self.stream = stream
            }

            /// The next value; nil at the end.
            /// - Throws: ``CurlewError``.
            public mutating func next() async throws -> Value? {
                var events: EventSource.AsyncIterator
                do { events = try source.get() } catch {
                    guard !isAtEnd else { return nil }
                    isAtEnd = true
                    throw error
                }
                while !isAtEnd {
                    let event = await events.next()
                    source = .success(events)
                    switch event {
                    case .open, .error(_, isClosed: false): break
                    case .message(let message):
                        number += 1
                        guard message.data != stream.endMarker else { return end() }
                        if let value = try value(of: message) { return value }
                    case .error(let error, isClosed: true):
                        isAtEnd = true
                        throw error
                    case nil:
                        isAtEnd = true
                        guard !Task.isCancelled else { throw CurlewError(.cancelled, "the task was cancelled") }
                    }
                }
                return nil
            }

            /// Releases the connection, which has no more events.
            private mutating func end() -> Value? {
                isAtEnd = true
                source = .failure(CurlewError(.cancelled, "the stream has ended"))
                return nil
            }

            private func value(of message: ServerSentEvent) throws -> Value? {
                do {
                    return try stream.decode(message)
                } catch {
                    guard !stream.malformed.areSkipped else { return nil }
                    throw CurlewError(
                        .decodingFailed, "the data of event \(number) cannot be read as JSON", underlying: error)
                }
            }
        }
    }
}

extension ServerSentEvent {
    /// The data decoded from JSON.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed``, or the decoder's error.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, by coding: JSONCoding = JSONCoding()) throws
        -> Value
    {
        try throwingCurlewErrors { try coding.decode(type, from: Array(data.utf8)) }
    }
}

extension HTTPSession {
    /// The events of a stream, each one's data decoded from JSON.
    ///
    /// ```swift
    /// for try await delta in api.events("messages", .json(prompt), as: Delta.self, until: "[DONE]") {
    ///     print(delta.text, terminator: "")
    /// }
    /// ```
    /// - Parameters:
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - content: The content of the request.
    ///   - method: The method; nil is POST with content, and GET without.
    ///   - query: Pairs for the query.
    ///   - type: The type of the decoded data.
    ///   - endMarker: The data of the event that ends the sequence. It is not JSON; an example is `[DONE]`.
    ///   - malformed: The treatment of data that cannot be decoded.
    ///   - fields: Fields of this call. `Accept` and `Cache-Control` are added unless the fields contain them.
    ///   - credential: A credential for this call, sent with the first request.
    ///   - timeout: A deadline over each connection, including its stream; none by default.
    ///   - options: Options of this call. The idle and the total timeout are off unless they are set.
    ///   - reconnection: The delays and the number of reconnections.
    ///   - limits: Bounds on lines and events; beyond them: ``ErrorCode/responseTooLarge``.
    public func events<Value: Decodable & Sendable>(
        _ reference: URIReference, _ content: CurlewRequest.Content = .none, method: HTTPRequest.Method? = nil,
        query: RequestParameters = .none, as type: Value.Type,
        until endMarker: String? = nil, malformed: HTTPSession.MalformedElements = .fail,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions(),
        reconnection: ServerSentEvent.ReconnectionPolicy = ServerSentEvent.ReconnectionPolicy(),
        limits: ServerSentEvent.Limits = ServerSentEvent.Limits()
    ) -> HTTPSession.EventStream<Value> {
        let coding = self.json
        return HTTPSession.EventStream(
            source: eventSource(
                method ?? content.usualMethod, reference, CallContent(content, query: query),
                CallSettings(fields, credential, timeout, options), reconnection, limits),
            decode: { try $0.json(as: type, by: coding) }, endMarker: endMarker, malformed: malformed)
    }

    /// The events of a stream without decoding; see
    /// ``events(_:_:method:query:as:until:malformed:fields:credential:timeout:options:reconnection:limits:)``.
    public func events(
        _ reference: URIReference, _ content: CurlewRequest.Content = .none, method: HTTPRequest.Method? = nil,
        query: RequestParameters = .none, until endMarker: String? = nil,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions(),
        reconnection: ServerSentEvent.ReconnectionPolicy = ServerSentEvent.ReconnectionPolicy(),
        limits: ServerSentEvent.Limits = ServerSentEvent.Limits()
    ) -> HTTPSession.EventStream<ServerSentEvent> {
        HTTPSession.EventStream(
            source: eventSource(
                method ?? content.usualMethod, reference, CallContent(content, query: query),
                CallSettings(fields, credential, timeout, options), reconnection, limits),
            decode: { $0 }, endMarker: endMarker, malformed: .fail)
    }

    private func eventSource(
        _ method: HTTPRequest.Method, _ reference: URIReference, _ content: CallContent, _ settings: CallSettings,
        _ reconnection: ServerSentEvent.ReconnectionPolicy, _ limits: ServerSentEvent.Limits
    ) -> Result<EventSource, any Error> {
        Result {
            let request = try makeRequest(method, reference, content, settings)
            return EventSource(self, request, reconnection: reconnection, limits: limits)
        }
    }
}
