internal import Curlew
internal import HTTPTypes

extension WebSocketSource {
    /// An iterator of events. It opens the WebSockets.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum Phase {
            case ready
            case connecting
            case open(OpenSocket)
            case waiting(Duration)
            case closed
        }

        private let source: WebSocketSource
        private var phase = Phase.ready
        private var last: CurlewWebSocket.Message?
        private var failures = 0
        private var messages = 0
        /// The time since the WebSocket was opened, by the source's clock.
        private var sinceOpening: (() -> Duration)?
        /// The time since the first of the consecutive failed attempts, by the source's clock.
        private var sinceFailing: (() -> Duration)?

        init(source: WebSocketSource) { self.source = source }

        /// The next event; nil after the end of the source or a cancellation of the task.
        public mutating func next() async -> Event? {
            while !Task.isCancelled {
                switch phase {
                case .closed: return nil
                case .ready:
                    phase = .connecting
                    return .connecting
                case .connecting: if let event = await connect() { return event }
                case .open(let socket): if let event = await read(socket) { return event }
                case .waiting(let wait):
                    do {
                        try await source.clock.sleep(for: wait)
                        phase = .ready
                    } catch {
                        guard !Task.isCancelled else { continue }
                        // A clock that fails would fail in the next wait, too.
                        return end(nil, CurlewError(wrapping: error), reconnects: false)
                    }
                }
            }
            phase = .closed
            return nil
        }

        private mutating func connect() async -> Event? {
            do {
                let handshake = try await source.cursor(last)
                var fields = source.fields
                for field in handshake.fields { fields[fields: field.name] = [] }
                for field in handshake.fields { fields.append(field) }
                let socket = try await source.session.openWebSocket(
                    source.reference, protocols: source.protocols, query: handshake.query, fields: fields,
                    credential: source.credential, options: source.options, requestOptions: source.requestOptions)
                try await socket.connection.start()
                phase = .open(OpenSocket(socket))
                sinceOpening = Self.stopwatch(source.clock)
                messages = 0
                return .open(socket)
            } catch {
                guard !Task.isCancelled else { return nil }
                let error = CurlewError(wrapping: error)
                return end(nil, error, reconnects: error.mayPass)
            }
        }

        private mutating func read(_ open: OpenSocket) async -> Event? {
            do {
                if let message = try await open.next() {
                    last = message
                    messages += 1
                    return .message(message)
                }
                return await end(open, nil)
            } catch {
                guard !Task.isCancelled else { return nil }
                return await end(open, CurlewError(wrapping: error))
            }
        }

        private mutating func end(_ open: OpenSocket, _ error: CurlewError?) async -> Event {
            let ending = await open.socket.connection.end(.goingAway)
            // An ended session accepts no further handshake.
            let isShutDown = error?.code == .sessionInvalidated || error?.code == .cancelled
            return end(ending, error, reconnects: !isShutDown && source.reconnects(ending))
        }

        private mutating func end(_ ending: CurlewWebSocket.Ending?, _ error: CurlewError?, reconnects: Bool) -> Event {
            if ending != nil, messages > 0 || (sinceOpening?() ?? .zero) >= WebSocketSource.provenTime {
                failures = 0
                sinceFailing = nil
            }
            failures += 1
            let elapsed = sinceFailing ?? Self.stopwatch(source.clock)
            sinceFailing = elapsed
            let asked = error?.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) }
            guard reconnects, failures < Swift.max(1, source.policy.attempts),
                let wait = source.policy.wait(after: failures, asked: asked),
                source.policy.allows(wait, elapsed: elapsed())
            else {
                phase = .closed
                return .closed(Closing(ending: ending, error: error, wait: nil))
            }
            phase = .waiting(wait)
            return .closed(Closing(ending: ending, error: error, wait: wait))
        }

        /// Returns a closure that measures the time since this call.
        private static func stopwatch<Watch: Clock<Duration>>(_ clock: Watch) -> () -> Duration {
            let start = clock.now
            return { start.duration(to: clock.now) }
        }
    }

    /// The time after which an open WebSocket counts as a success, even without a message.
    private static let provenTime = Duration.seconds(10)
}

/// An open WebSocket of an iterator. It is closed when the iterator releases it.
private final class OpenSocket: Sendable {
    let socket: CurlewWebSocket

    init(_ socket: CurlewWebSocket) { self.socket = socket }

    deinit { socket.connection.abandon(.goingAway) }

    func next() async throws -> CurlewWebSocket.Message? {
        var messages = socket.messages.makeAsyncIterator()
        return try await messages.next()
    }
}

extension CurlewError {
    /// True if another handshake may succeed.
    fileprivate var mayPass: Bool {
        if code == .webSocketHandshakeFailed, let status {
            return [408, 429, 500, 502, 503, 504].contains(status.code)
        }
        return isTransient
    }
}
