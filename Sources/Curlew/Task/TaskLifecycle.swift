extension TaskActor {
    /// Where a task is in its life.
    public enum State: String, Sendable, Hashable, Codable {
        /// Not started, or stopped for the moment.
        case suspended
        /// Waiting for its turn, connecting, sending or receiving.
        case running
        /// Ended with a whole response.
        case completed
        /// Ended with an error.
        case failed
        /// Ended on our side.
        case cancelled

        /// True if nothing can happen to the task any more.
        public var isEnd: Bool { self == .completed || self == .failed || self == .cancelled }
    }
}

/// The life of a task as a pure machine: an event in, an action out. The actor performs the action, and nothing else.
///
///     new ──resume──▶ queued ──turn──▶ exchanging ──end──▶ ended
///                       │  suspended ▲                       ▲
///                       └──turn──▶ held ─────────end─────────┘
///
/// The end comes once, from wherever the task is: nothing that comes later brings an action.
struct TaskLifecycle: Sendable {
    enum Event: Equatable {
        /// The user starts it, or lets its bytes flow again.
        case resume
        /// The user starts it for a call that is suspended: it takes its turn and is held there.
        case startSuspended
        /// The user stops its bytes.
        case suspend
        /// The user, or the session, ends it; how, if there is nothing under way that ends by itself then.
        case abort(TaskActor.State)
        /// The session has a place for it.
        case turn
        /// Its exchange has ended, or will not take place.
        case end(TaskActor.State)
    }

    enum Action: Equatable {
        case nothing
        /// Ask the session for a place.
        case enterQueue
        /// It is stopped, and has nothing that flows.
        case noteSuspension
        /// It goes on, and has nothing that flows.
        case noteResumption
        /// Hand the exchange to the engine.
        case begin
        /// Make the exchange, and do not begin it yet: the user holds it.
        case prepare
        /// Begin the exchange that was held.
        case beginPrepared
        /// Stop the bytes.
        case pause
        /// Let the bytes flow again.
        case unpause
        /// End the exchange; its end comes as an event.
        case abortExchange
        /// Announce the end. It comes once.
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

    // MARK: The response

    /// What is to be done for somebody who asks for the response.
    enum Claim: Equatable {
        /// Give it: nobody has had it.
        case deliver
        /// Let them wait for it.
        case wait
        /// Throw what the task has ended with.
        case fail
        /// Throw that somebody else has it.
        case refuse
    }

    /// Somebody asks for the response.
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

    /// The head of the response has come, once.
    /// - Parameter isAwaited: Whether somebody waits for it.
    /// - Returns: Whether it is to be delivered now.
    mutating func headArrives(isAwaited: Bool) -> Bool {
        guard head == .awaited else { return false }
        head = isAwaited ? .claimed : .unclaimed
        return isAwaited
    }

    /// True if the head has come, and nobody has asked for it.
    var isHeadUnclaimed: Bool { head == .unclaimed }

    /// True if the head has come.
    var hasHead: Bool { head != .awaited }
}
