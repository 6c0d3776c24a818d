internal import HTTPTypes

extension EventSource {
    /// Opens the connection, and yields the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum Phase {
            case connecting
            case open(ServerSentEvent.Sequence.AsyncIterator)
            case waiting(Duration)
            case closed
        }

        private let source: EventSource
        private var phase = Phase.connecting
        private var lastEventID: String
        private var reconnectionTime: Duration?
        private var failures = 0
        /// The time since the stream was opened, and the identifier at that moment.
        private var opening: (time: Timekeeper, lastEventID: String)
        /// True if the stream has yielded an event.
        private var hasYielded = false

        init(source: EventSource) {
            self.source = source
            lastEventID = source.lastEventID
            opening = (Timekeeper(source.clock), source.lastEventID)
        }

        /// The next event; nil once the source is closed or has ended, or the task is cancelled.
        public mutating func next() async -> Event? {
            while !Task.isCancelled {
                switch phase {
                case .closed: return nil
                case .waiting(let delay):
                    do {
                        try await Timekeeper(source.clock).sleep(for: delay)
                        phase = .connecting
                    } catch {
                        // A clock that fails would fail in the next wait, too.
                        if let event = fail(CurlewError(wrapping: error), isFinal: true) { return event }
                    }
                case .connecting:
                    if let event = await connect() { return event }
                case .open(let events):
                    if let event = await read(events) { return event }
                }
                if Task.isCancelled { break }
            }
            phase = .closed
            return nil
        }

        // MARK: Connecting

        private mutating func connect() async -> Event? {
            do {
                let response = try await source.session.send(request())
                if response.status == .noContent {
                    phase = .closed
                    return nil
                }
                try await check(response)
                hasYielded = false
                opening = (Timekeeper(source.clock), lastEventID)
                let events = response.body.serverSentEvents(limits: source.limits, lastEventID: lastEventID)
                phase = .open(events.makeAsyncIterator())
                return .open
            } catch {
                failures += 1
                let error = CurlewError(wrapping: error)
                // Without a connection nothing was sent, so every method may be retried.
                return fail(error, isFinal: !source.request.isIdempotent && error.stage != .connecting)
            }
        }

        private func request() -> CurlewRequest {
            var request = source.request
            request.fields[EventSource.lastEventIDField] = lastEventID.isEmpty || !isSendable ? nil : lastEventID
            return request
        }

        /// True if a field can hold the identifier. An identifier may contain control characters, a field may not.
        private var isSendable: Bool { lastEventID.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == .tab } }

        private func check(_ response: CurlewResponse) async throws {
            var acceptance = ResponseAcceptance(.types(.eventStream))
            acceptance.statuses = .codes(200)
            acceptance.errorBodyLimit = ByteSize(CurlewError.bodyPrefixLimit)
            if acceptance.statuses.contains(response.status), acceptance.contentTypes.accepts(response.mediaType) {
                return
            }
            switch try await judge(response, by: acceptance) {
            case .refused(let refusal): throw refusal.error()
            case .accepted, .acceptedEmpty:
                throw CurlewError(.unacceptableContentType, "the response is no event stream")
            }
        }

        /// Judges a response that is not an event stream. Its body may contain the reason. The wait for the body is
        /// limited here, because the request has no timeout.
        private func judge(
            _ response: CurlewResponse, by acceptance: ResponseAcceptance
        ) async throws -> ResponseAcceptance.Verdict {
            let clock = source.clock
            let limit = Task {
                try await clock.sleep(for: EventSource.refusalTime)
                response.task?.cancel()
            }
            defer { limit.cancel() }
            do {
                return try await acceptance.judge(response)
            } catch  where !Task.isCancelled {
                var response = response
                response.body = .bytes([])
                return try await acceptance.judge(response)
            }
        }

        // MARK: Reading

        private mutating func read(_ current: ServerSentEvent.Sequence.AsyncIterator) async -> Event? {
            var events = current
            do {
                if let event = try await events.next() {
                    phase = .open(events)
                    hasYielded = true
                    return .message(event)
                }
                guard source.request.isIdempotent, source.reconnection.reconnectsAfterEnd else {
                    phase = .closed
                    return nil
                }
                end(events.parser)
                return fail(CurlewError(.connectionLost, "the event stream ended"), isFinal: false)
            } catch {
                end(events.parser)
                let error = CurlewError(wrapping: error)
                return fail(error, isFinal: error.code == .responseTooLarge || !source.request.isIdempotent)
            }
        }

        /// Stores the identifier and the reconnection time of an ended stream. A stream without events counts as a
        /// failure, because a server may end each stream at once.
        private mutating func end(_ parser: ServerSentEventParser) {
            lastEventID = parser.lastEventID
            reconnectionTime = parser.reconnectionTime ?? reconnectionTime
            let hasNewID = !lastEventID.utf8.elementsEqual(opening.lastEventID.utf8)
            let hasLasted = opening.time.elapsed() >= EventSource.provenTime
            if hasNewID || hasLasted || hasYielded { failures = 0 } else { failures += 1 }
        }

        // MARK: Failing

        private mutating func fail(_ error: CurlewError, isFinal: Bool) -> Event? {
            if Task.isCancelled { return nil }
            let isExhausted = source.reconnection.attempts.map { failures >= $0 } ?? false
            if isFinal || isExhausted || error.code.isPermanent {
                phase = .closed
                return .error(error, isClosed: true)
            }
            phase = .waiting(source.reconnection.wait(base: reconnectionTime, failures: failures))
            return .error(error, isClosed: false)
        }
    }

    /// The longest wait for the body of a refusal.
    private static let refusalTime = Duration.seconds(10)

    /// The duration after which a stream counts as a success, even without events.
    private static let provenTime = Duration.seconds(10)

    private static let lastEventIDField = HTTPField.Name("Last-Event-ID")!
}
