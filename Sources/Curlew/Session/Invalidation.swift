/// Sees to it that the end of a session is told once: when it was invalidated and no loop has a task of it left.
final class Invalidation: Sendable {
    private struct State {
        var loops: Int
        var error: CurlewError?
    }

    private let state: Guarded<State>
    private let broadcaster: EventBroadcaster

    init(loops: Int, broadcaster: EventBroadcaster) {
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
