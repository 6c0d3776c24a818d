extension ResponseBody {
    /// The body as the events of a `text/event-stream`, as far as this one response goes.
    ///
    /// The rules are those of WHATWG HTML §9.2.6: UTF-8 with repairs, lines that end with LF, CR or CRLF, an event at each
    /// empty line. An event that the body breaks off is dropped. Neither status nor media type is looked at; an
    /// ``EventSource`` does that, and connects again.
    public var serverSentEvents: ServerSentEventSequence { serverSentEvents(limits: ServerSentEventLimits()) }

    /// The body as the events of a `text/event-stream`, within bounds of your own.
    /// - Parameters:
    ///   - limits: Beyond them: ``ErrorCode/responseTooLarge``.
    ///   - lastEventID: What events without an identifier have, until one comes.
    public func serverSentEvents(limits: ServerSentEventLimits, lastEventID: String = "") -> ServerSentEventSequence {
        ServerSentEventSequence(body: self, limits: limits, lastEventID: lastEventID)
    }
}

/// The events of one response.
public struct ServerSentEventSequence: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent

    let body: ResponseBody
    let limits: ServerSentEventLimits
    let lastEventID: String

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            chunks: body.makeAsyncIterator(),
            parser: ServerSentEventParser(limits: limits, lastEventID: lastEventID))
    }

    /// Yields the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var chunks: ResponseBody.AsyncIterator
        private(set) var parser: ServerSentEventParser
        private var events: ArraySlice<ServerSentEvent> = []

        init(chunks: ResponseBody.AsyncIterator, parser: ServerSentEventParser) {
            self.chunks = chunks
            self.parser = parser
        }

        /// The next event; nil at the end.
        /// - Throws: ``CurlewError``.
        public mutating func next() async throws -> ServerSentEvent? {
            while events.isEmpty {
                try parser.check()
                guard let chunk = try await chunks.next() else { return nil }
                events = try parser.consume(chunk)[...]
            }
            return events.removeFirst()
        }
    }
}
