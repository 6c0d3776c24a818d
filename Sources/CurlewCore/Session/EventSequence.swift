extension SessionEvent {
    /// The events of a session, for any number of listeners. Each listener gets the events that happen after it began
    /// to listen. All listeners get them in the same order:
    ///
    /// - The events of a task begin with ``SessionEvent/Kind/resumed``. ``SessionEvent/Kind/suspended`` and `resumed`
    ///   alternate. ``SessionEvent/Kind/completed`` comes last, once. A task that is cancelled before it was resumed
    ///   has `completed` alone.
    /// - ``SessionEvent/Kind/serialized`` follows the `completed` of the task with the response, even if the serializer
    ///   ended earlier. The typed call may return shortly before this event.
    /// - ``SessionEvent/Kind/waitingForConnectivity`` follows the `completed` of the task that could not connect.
    /// - The events of different tasks come as they happen; on several loops they happen at the same time.
    /// - ``SessionEvent/Kind/invalidated`` comes once, after the session was invalidated or shut down and every task
    ///   has completed. Its error is ``ErrorCode/sessionInvalidated`` if the invalidation cancelled tasks. Only events
    ///   of tasks that are rejected afterwards, and `serialized` and `waitingForConnectivity` of ended tasks, can
    ///   follow.
    /// - The sequence ends with the session: after ``SessionActor/shutdown(deadline:)``, or after its last reference
    ///   and its last task are gone. A session that is released without being invalidated has no `invalidated`.
    ///
    /// A listener that is behind by more than ``SessionConfiguration/eventBufferSize`` events loses the oldest ones;
    /// the others stay in order. Without listeners no event is made.
    public struct Stream: AsyncSequence, Sendable {
        public typealias Element = SessionEvent
        public typealias Failure = Never

        let broadcaster: Broadcaster<SessionEvent>

        /// Begins to listen immediately, not with the first `next`.
        public func makeAsyncIterator() -> AsyncStream<SessionEvent>.AsyncIterator {
            broadcaster.listen().makeAsyncIterator()
        }
    }
}

/// The final event of a session. It is published once, when the session is invalidated and no loop has a task of it
/// left.
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

    /// Records that the invalidation cancelled tasks.
    func cancels() {
        state.withLock { $0.error = CurlewError(.sessionInvalidated, "tasks were cancelled with their session") }
    }

    /// Records that a loop has no task of the session left. Called once for each loop.
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
