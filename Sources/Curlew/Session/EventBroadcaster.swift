/// The events of a session, for any number of listeners. Each gets those that happen after it began to listen.
public struct EventSequence: AsyncSequence, Sendable {
    public typealias Element = SessionEvent
    public typealias Failure = Never

    let broadcaster: EventBroadcaster

    /// Begins to listen: at once, not with the first `next`.
    public func makeAsyncIterator() -> AsyncStream<SessionEvent>.AsyncIterator {
        broadcaster.listen().makeAsyncIterator()
    }
}

/// Hands events to the listeners. Each has a buffer of its own; one that is behind loses the oldest.
final class EventBroadcaster: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<SessionEvent>.Continuation] = [:]
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Guarded(State())
    private let bufferSize: Int

    init(bufferSize: Int) { self.bufferSize = max(1, bufferSize) }

    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    func listen() -> AsyncStream<SessionEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SessionEvent.self, bufferingPolicy: .bufferingNewest(bufferSize))
        let number: UInt64? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    func publish(_ event: SessionEvent) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(event) }
    }

    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
