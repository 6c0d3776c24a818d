extension TaskActor {
    /// The state of a task.
    public enum State: String, Sendable, Hashable, Codable {
        /// The task has not started, or is suspended.
        case suspended
        /// The task waits for its turn, connects, sends or receives.
        case running
        /// The task has ended with a complete response.
        case completed
        /// The task has ended with an error.
        case failed
        /// The task was cancelled by the client.
        case cancelled

        /// True if the task has ended.
        public var isEnd: Bool { self == .completed || self == .failed || self == .cancelled }
    }
}

/// The lifecycle of a task as a pure machine: an event in, an action out. The actor only performs the action.
///
///     new ──resume──▶ queued ──turn──▶ exchanging ──end──▶ ended
///                       │  suspended ▲                       ▲
///                       └──turn──▶ held ─────────end─────────┘
///
/// The end occurs once, from any state: later events cause no action.
struct TaskLifecycle: Sendable {
    enum Event: Equatable {
        /// The user starts the task, or resumes its transfer.
        case resume
        /// The user starts the task for a suspended call: it waits for its turn and is then held.
        case startSuspended
        /// The user suspends its transfer.
        case suspend
        /// The user or the session ends the task. The state is used if no running exchange reports its own end.
        case abort(TaskActor.State)
        /// The session has a slot for the task.
        case turn
        /// The exchange has ended, or will not take place.
        case end(TaskActor.State)
    }

    enum Action: Equatable {
        case nothing
        /// Requests a slot from the session.
        case enterQueue
        /// Records the suspension of a task without a transfer.
        case noteSuspension
        /// Records the resumption of a task without a transfer.
        case noteResumption
        /// Passes the exchange to the engine.
        case begin
        /// Prepares the exchange without beginning it, as the user has suspended it.
        case prepare
        /// Begins the held exchange.
        case beginPrepared
        /// Pauses the transfer.
        case pause
        /// Resumes the transfer.
        case unpause
        /// Aborts the exchange; its end follows as an event.
        case abortExchange
        /// Announces the end, exactly once.
        case announceEnd(heldPlace: Bool)
    }

    private enum Phase { case new, queued, held, exchanging, ended }

    private enum Head { case awaited, unclaimed, claimed }

    private(set) var state = TaskActor.State.suspended
    private var phase = Phase.new
    private var isAborting = false
    private var head = Head.awaited

    /// True if it was ever resumed.
    private(set) var hasStarted = false

    mutating func handle(_ event: Event) -> Action {
        guard phase != .ended else { return .nothing }
        switch event {
        case .resume: return state == .suspended && !isAborting ? resume() : .nothing
        case .startSuspended where phase == .new:
            phase = .queued
            hasStarted = true
            return .enterQueue
        case .suspend, .startSuspended: return state == .running && !isAborting ? suspend() : .nothing
        case .abort(let state): return isAborting ? .nothing : abort(state)
        case .turn: return phase == .queued ? takeTurn() : .nothing
        case .end(let state): return end(state.isEnd ? state : .failed)
        }
    }

    private mutating func resume() -> Action {
        state = .running
        switch phase {
        case .new:
            phase = .queued
            hasStarted = true
            return .enterQueue
        case .queued, .ended: return .noteResumption
        case .held:
            phase = .exchanging
            return .beginPrepared
        case .exchanging: return .unpause
        }
    }

    private mutating func suspend() -> Action {
        state = .suspended
        return phase == .exchanging ? .pause : .noteSuspension
    }

    private mutating func abort(_ state: TaskActor.State) -> Action {
        guard phase == .held || phase == .exchanging else { return end(state) }
        isAborting = true
        return .abortExchange
    }

    private mutating func takeTurn() -> Action {
        phase = state == .suspended ? .held : .exchanging
        return phase == .held ? .prepare : .begin
    }

    private mutating func end(_ end: TaskActor.State) -> Action {
        let heldPlace = phase == .held || phase == .exchanging
        phase = .ended
        state = end
        return .announceEnd(heldPlace: heldPlace)
    }

    // MARK: Response

    /// The reply to a caller that asks for the response.
    enum Claim: Equatable {
        /// Deliver the response, as no other caller has it.
        case deliver
        /// Let the caller wait for it.
        case wait
        /// Throw the error of the task.
        case fail
        /// Throw because another caller has the response.
        case refuse
    }

    /// Decides on a caller that asks for the response.
    mutating func claim() -> Claim {
        switch head {
        case .unclaimed:
            head = .claimed
            return .deliver
        case _ where state == .failed || state == .cancelled: return .fail
        case .claimed: return .refuse
        case .awaited: return .wait
        }
    }

    /// Records the arrival of the head, once.
    /// - Parameter isAwaited: True if a caller waits for it.
    /// - Returns: True if it is to be delivered now.
    mutating func headArrives(isAwaited: Bool) -> Bool {
        guard head == .awaited else { return false }
        head = isAwaited ? .claimed : .unclaimed
        return isAwaited
    }

    /// True if the head has arrived, and no caller has claimed it.
    var isHeadUnclaimed: Bool { head == .unclaimed }

    /// True if the head has arrived.
    var hasHead: Bool { head != .awaited }
}
