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

typealias EventBroadcaster = Broadcaster<SessionEvent>
