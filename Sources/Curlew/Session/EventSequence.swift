extension SessionEvent {
    /// The events of a session, for any number of listeners. Each gets those that happen after it began to listen, and all get
    /// them in the same order, which is:
    ///
    /// - Of one task: ``SessionEvent/Kind/resumed``, then ``SessionEvent/Kind/suspended`` and `resumed` by turns, then
    ///   ``SessionEvent/Kind/completed``, once. A task that is cancelled before it was resumed has `completed` alone.
    /// - ``SessionEvent/Kind/serialized`` comes after the `completed` of the task that brought the response, also where the
    ///   serializer was done, or gave up, before that. It comes soon after the typed call, not before it returns.
    /// - ``SessionEvent/Kind/waitingForConnectivity`` comes after the `completed` of the task that could not connect.
    /// - Of different tasks the events come as they happen; on several loops they happen at the same time.
    /// - ``SessionEvent/Kind/invalidated`` comes once, when the session was invalidated or shut down and the last of its tasks has
    ///   ended: after the `completed` of each. Its error is ``ErrorCode/sessionInvalidated`` if tasks were cancelled for it. Only what
    ///   is refused afterwards, and the `serialized` and `waitingForConnectivity` of what had ended, can follow.
    /// - The sequence ends with the session: after ``SessionActor/shutdown(deadline:)``, or when nobody holds the session and its
    ///   last task has ended. One that is dropped without being invalidated tells nothing of it.
    ///
    /// A listener that is behind by more than ``SessionConfiguration/eventBufferSize`` loses the oldest; those that it gets stay in
    /// their order. For as long as nobody listens, no event is made.
    public struct Stream: AsyncSequence, Sendable {
        public typealias Element = SessionEvent
        public typealias Failure = Never

        let broadcaster: Broadcaster<SessionEvent>

        /// Begins to listen: at once, not with the first `next`.
        public func makeAsyncIterator() -> AsyncStream<SessionEvent>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}

/// The end of a session, published once: when it was invalidated and no loop has a task of it left.
final class Invalidation: Sendable {
    private struct State {
        var loops: Int
        var error: CurlewError?
    }

    private let state: Guarded<State>
    private let broadcaster: Broadcaster<SessionEvent>

    init(loops: Int, broadcaster: Broadcaster<SessionEvent>) {
        state = Guarded(State(loops: loops))
        self.broadcaster = broadcaster
    }

    /// Tasks were cancelled for it.
    func cancels() {
        state.withLock { $0.error = CurlewError(.sessionInvalidated, "tasks were cancelled with their session") }
    }

    /// One loop has nothing left. Called once for each.
    func loopIsEmpty() {
        let error: CurlewError?? = state.withLock { state in
            state.loops -= 1
            return state.loops == 0 ? .some(state.error) : nil
        }
        guard let error, broadcaster.hasListeners else { return }
        var event = SessionEvent(.invalidated)
        event.error = error
        broadcaster.publish(event)
    }
}
