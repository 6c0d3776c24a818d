/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The event's name; `message` if the server gave none.
    public var type: String
    /// The data lines, joined with LF.
    public var data: String
    /// The identifier of the newest event that had one, this or an earlier; empty if there was none.
    public var lastEventID: String

    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}

extension ServerSentEvent {
    /// Bounds on a stream of events.
    public struct Limits: Sendable, Hashable {
        /// The longest line in bytes. 1 MiB by default.
        public var line: ByteSize
        /// The most bytes of data in one event. 16 MiB by default.
        public var event: ByteSize

        public init(line: ByteSize = .mebibytes(1), event: ByteSize = .mebibytes(16)) {
            self.line = line
            self.event = event
        }
    }
}

extension CurlewResponse.Body {
    /// The body as the events of a `text/event-stream`, as far as this one response goes.
    ///
    /// The rules are those of WHATWG HTML §9.2.6: UTF-8 with repairs, lines that end with LF, CR or CRLF, an event at each
    /// empty line. An event that the body breaks off is dropped. Neither status nor media type is looked at; an
    /// ``EventSource`` does that, and connects again.
    public var serverSentEvents: ServerSentEvent.Sequence { serverSentEvents(limits: ServerSentEvent.Limits()) }

    /// The body as the events of a `text/event-stream`, within bounds of your own.
    /// - Parameters:
    ///   - limits: Beyond them: ``ErrorCode/responseTooLarge``.
    ///   - lastEventID: What events without an identifier have, until one comes.
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
    /// The rule by which an ``EventSource`` connects again.
    public struct ReconnectionPolicy: Sendable, Hashable {
        /// The first wait, until the server gives a time of its own (`retry:`). 3 seconds by default, as in browsers.
        public var delay: Duration
        /// The shortest wait, whatever the server says: with `retry: 0` it would be asked without a pause. 500 ms by default.
        public var minimumDelay: Duration
        /// The longest wait. It doubles with each attempt that fails, up to this; a longer time that the server gave is kept. 5 minutes by
        /// default. An attempt fails without a stream, and by a stream that ends within ten seconds and brings neither an event nor a new
        /// identifier.
        public var maximumDelay: Duration
        /// The most attempts in a row that may fail before the source gives up. nil, the default, never does.
        public var attempts: Int?
        /// True if a source connects again after a stream that ended well, as browsers do; false if that is its end. True by
        /// default. It holds for idempotent requests alone: no other is sent again after a stream.
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

        /// The wait.
        /// - Parameters:
        ///   - base: The server's time, if it gave one.
        ///   - failures: How many attempts in a row have failed.
        func wait(base: Duration?, failures: Int) -> Duration {
            let base = max(base ?? delay, minimumDelay, .zero)
            guard failures > 1, base < maximumDelay else { return base }
            var wait = base
            for _ in 1..<min(failures, 64) where wait < maximumDelay { wait *= 2 }
            return min(wait, maximumDelay)
        }
    }
}
