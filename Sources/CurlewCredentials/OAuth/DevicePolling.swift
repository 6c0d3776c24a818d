internal import Curlew

/// The state machine of a device that requests its token until the user has decided (RFC 8628 §3.5).
///
/// The owner performs the actions, and passes the time since the codes arrived.
struct DevicePolling: Hashable, Sendable {
    enum Event: Hashable, Sendable {
        /// The codes have arrived.
        case started
        /// The wait has ended.
        case waited
        /// The server has issued a token.
        case granted
        /// The server has refused the request.
        case refused(OAuth.Failure.Code)
        /// The server has not answered in time, or the connection was lost.
        case unanswered
    }

    enum Action: Hashable, Sendable {
        case wait(Duration)
        case poll
        case succeed
        /// The user has refused, or the server accepts no more requests.
        case fail(OAuth.Failure.Code)
    }

    private enum State: Hashable, Sendable {
        case idle
        case waiting
        case polling
        case ended
    }

    private var state = State.idle
    private var interval: Duration
    private let lifetime: Duration

    init(interval: Duration, lifetime: Duration) {
        self.interval = interval
        self.lifetime = lifetime
    }

    init(_ authorization: OAuth.DeviceAuthorization) {
        self.init(interval: authorization.interval, lifetime: authorization.lifetime)
    }

    /// The action after an event; nil for an event that does not match the state, and after the end.
    /// - Parameter elapsed: The time since the codes arrived.
    mutating func handle(_ event: Event, elapsed: Duration) -> Action? {
        switch (state, event) {
        case (.idle, .started): return wait(elapsed)
        case (.waiting, .waited):
            guard elapsed < lifetime else { return end(.fail(.expiredToken)) }
            state = .polling
            return .poll
        case (.polling, .granted): return end(.succeed)
        case (.polling, .unanswered):
            // The wait doubles, as the RFC recommends.
            interval = min(interval * 2, max(interval, .seconds(300)))
            return wait(elapsed)
        case (.polling, .refused(.authorizationPending)): return wait(elapsed)
        case (.polling, .refused(.slowDown)):
            interval += .seconds(5)
            return wait(elapsed)
        case (.polling, .refused(let code)): return end(.fail(code))
        default: return nil
        }
    }

    /// The next wait, or the end if the codes expire before the end of the wait.
    private mutating func wait(_ elapsed: Duration) -> Action {
        guard elapsed < lifetime, interval < lifetime - elapsed else { return end(.fail(.expiredToken)) }
        state = .waiting
        return .wait(interval)
    }

    private mutating func end(_ action: Action) -> Action {
        state = .ended
        return action
    }
}
