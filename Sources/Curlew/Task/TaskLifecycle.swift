/// The life of a task as a pure machine: an event in, an action out. The actor performs the action.
///
///     suspended ──resume──▶ running ──finish──▶ completed, failed or cancelled
///         ▲                    │
///         └─────suspend────────┘
struct TaskLifecycle: Sendable {
    enum Event {
        case resume
        case suspend
        case cancel
        case finish(TaskState)
    }

    enum Action: Equatable {
        case nothing
        /// The first time that the task runs: take a place in the session.
        case start
        /// Hold the bytes back.
        case hold
        /// Let the bytes flow again.
        case release
        /// End what was started; the end itself is announced by `finish`.
        case abort
        /// There was nothing to end: announce the cancellation.
        case announceCancellation
        /// Announce the end, which happens once.
        case announceEnd
    }

    private(set) var state = TaskState.suspended
    private(set) var hasStarted = false
    private var isAborting = false

    mutating func handle(_ event: Event) -> Action {
        guard !state.isEnd else { return .nothing }
        switch event {
        case .resume:
            guard state == .suspended, !isAborting else { return .nothing }
            state = .running
            defer { hasStarted = true }
            return hasStarted ? .release : .start
        case .suspend:
            guard state == .running, !isAborting else { return .nothing }
            state = .suspended
            return .hold
        case .cancel:
            guard !isAborting else { return .nothing }
            guard hasStarted else {
                state = .cancelled
                return .announceCancellation
            }
            isAborting = true
            return .abort
        case .finish(let end):
            state = end.isEnd ? end : .failed
            return .announceEnd
        }
    }
}
