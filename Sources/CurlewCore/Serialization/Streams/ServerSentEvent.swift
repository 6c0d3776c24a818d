/// An event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event; `message` if the server sent none.
    public var type: String
    /// The data lines, joined with LF.
    public var data: String
    /// The last identifier up to this event; empty if there was none.
    public var lastEventID: String

    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}

extension ServerSentEvent {
    /// The limits on a stream of events.
    public struct Limits: Sendable, Hashable {
        /// The limit on the length of a line. 1 MiB by default.
        public var line: ByteSize
        /// The limit on the data of an event. 16 MiB by default.
        public var event: ByteSize

        public init(line: ByteSize = .mebibytes(1), event: ByteSize = .mebibytes(16)) {
            self.line = line
            self.event = event
        }
    }
}

extension CurlewResponse.Body {
    /// The body as the events of a `text/event-stream`, for this response only.
    ///
    /// The rules are those of WHATWG HTML §9.2.6: UTF-8 with repairs, lines that end with LF, CR or CRLF, an event at
    /// each empty line. An incomplete event at the end of the body is dropped. Neither status nor media type is
    /// checked; an ``EventSource`` does that, and reconnects.
    public var serverSentEvents: ServerSentEvent.Sequence { serverSentEvents(limits: ServerSentEvent.Limits()) }

    /// The body as the events of a `text/event-stream`, with your own limits.
    /// - Parameters:
    ///   - limits: The limits; beyond them the error is ``ErrorCode/responseTooLarge``.
    ///   - lastEventID: The identifier for events until the stream sends one.
    public func serverSentEvents(limits: ServerSentEvent.Limits, lastEventID: String = "") -> ServerSentEvent.Sequence {
        ServerSentEvent.Sequence(body: self, limits: limits, lastEventID: lastEventID)
    }
}

extension ServerSentEvent {
    /// The events of one response.
    public struct Sequence: AsyncSequence, Sendable {
        public typealias Element = ServerSentEvent

        let body: CurlewResponse.Body
        let limits: ServerSentEvent.Limits
        let lastEventID: String

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(
                chunks: body.makeAsyncIterator(),
                parser: ServerSentEventParser(limits: limits, lastEventID: lastEventID))
        }

        /// Yields the events.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private var chunks: CurlewResponse.Body.AsyncIterator
            private(set) var parser: ServerSentEventParser
            private var events: ArraySlice<ServerSentEvent> = []

            init(chunks: CurlewResponse.Body.AsyncIterator, parser: ServerSentEventParser) {
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
}

extension ServerSentEvent {
    /// The rules by which an ``EventSource`` reconnects.
    public struct ReconnectionPolicy: Sendable, Hashable {
        /// The first wait, until the server sets its own time (`retry:`). 3 seconds by default, as in browsers.
        public var delay: Duration
        /// The shortest wait, whatever the server sets: with `retry: 0` the source would reconnect without a pause. 500
        /// ms by default.
        public var minimumDelay: Duration
        /// The upper limit of the wait, which doubles with each failed attempt. 5 minutes by default. A longer time
        /// that the server sets is kept.
        ///
        /// An attempt fails if there is no stream. It also fails if the stream ends within ten seconds without an event
        /// or a new identifier.
        public var maximumDelay: Duration
        /// The number of consecutive failed attempts after which the source gives up. nil, the default, means no limit.
        public var attempts: Int?
        /// True if the source reconnects after the regular end of a stream, as browsers do; false if it ends then. True
        /// by default. It applies to idempotent requests only: other requests are never sent again after a stream.
        public var reconnectsAfterEnd: Bool

        public init(
            delay: Duration = .seconds(3), maximumDelay: Duration = .seconds(300), attempts: Int? = nil,
            minimumDelay: Duration = .milliseconds(500), reconnectsAfterEnd: Bool = true
        ) {
            self.delay = delay
            self.maximumDelay = maximumDelay
            self.attempts = attempts
            self.minimumDelay = minimumDelay
            self.reconnectsAfterEnd = reconnectsAfterEnd
        }

        /// The wait before an attempt.
        /// - Parameters:
        ///   - base: The server's time, if it set one.
        ///   - failures: The number of consecutive failed attempts.
        func wait(base: Duration?, failures: Int) -> Duration {
            let base = max(base ?? delay, minimumDelay, .zero)
            guard failures > 1, base < maximumDelay else { return base }
            var wait = base
            for _ in 1..<min(failures, 64) where wait < maximumDelay { wait *= 2 }
            return min(wait, maximumDelay)
        }
    }
}
