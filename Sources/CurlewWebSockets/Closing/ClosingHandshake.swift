/// The closing handshake of a connection (RFC 6455 §7), as a pure state machine: an event causes actions.
///
/// The connection performs the actions of an event in their order, and before the next event.
package struct ClosingHandshake: Sendable {
    /// An event that affects the end of the connection.
    package enum Event: Sendable, Hashable {
        /// The application closes the connection.
        case closeRequested(CurlewWebSocket.CloseStatus)
        /// The system has accepted the last byte of the endpoint's own close frame.
        case closeFlushed
        /// The peer's close frame was received.
        case closeReceived(CurlewWebSocket.CloseStatus)
        /// The peer violated the protocol. Its further bytes are discarded.
        case peerViolated(WebSocketViolation)
        /// A write failed. The connection cannot send any more.
        case outputBroke
        /// The peer ended the connection, or the connection failed.
        case connectionEnded
        /// The closing handshake has exceeded its timeout.
        case timedOut
    }

    /// An action of the connection.
    package enum Action: Sendable, Hashable {
        /// Writes the close frame after the frames that are already buffered. ``Event/closeFlushed`` reports that it
        /// was sent.
        case sendClose(CurlewWebSocket.CloseStatus)
        /// Starts the timer of the closing handshake. A connection starts it at most once.
        case startTimer
        /// Closes the transport.
        case closeConnection
        /// Reports the end, stops the timer and frees the memory. It is the last action.
        case finish(CurlewWebSocket.Ending)
    }

    /// The state. Each case holds the close frames that are known.
    package enum State: Sendable, Hashable {
        case open
        /// The endpoint's own close frame is being sent, and the peer's is awaited.
        case closing(sent: CurlewWebSocket.CloseStatus, isFlushed: Bool)
        /// Both close frames are known, and the own one is not yet flushed.
        case answering(
            sent: CurlewWebSocket.CloseStatus, received: CurlewWebSocket.CloseStatus,
            cause: CurlewWebSocket.Ending.Cause)
        /// Both close frames are exchanged, and the server must end the connection.
        case awaitingEnd(
            sent: CurlewWebSocket.CloseStatus, received: CurlewWebSocket.CloseStatus,
            cause: CurlewWebSocket.Ending.Cause)
        /// The peer violated the protocol, and the endpoint's close frame reports the violation.
        case failing(sent: CurlewWebSocket.CloseStatus, violation: WebSocketViolation)
        /// The connection cannot send any more. The received bytes are read to their end, because they may include the
        /// peer's close frame.
        case receiving(isClosing: Bool)
        case ended(CurlewWebSocket.Ending)
    }

    package private(set) var state = State.open
    private let role: WebSocketRole

    package init(role: WebSocketRole) { self.role = role }

    /// True if frames may be sent. No frame may follow the close frame (RFC 6455 §5.5.1).
    package var canSend: Bool { state == .open }

    /// True if the peer's messages are still delivered. The peer may finish its messages before it answers a close
    /// frame.
    package var canReceive: Bool {
        switch state {
        case .open, .closing, .receiving: true
        default: false
        }
    }

    /// True if the peer's pings are answered. They are answered until the peer's close frame, even after the endpoint's
    /// own close frame (RFC 6455 §5.5.2).
    package var answersPings: Bool {
        switch state {
        case .open, .closing: true
        default: false
        }
    }

    /// True if a write has failed and the peer's bytes are read to their end.
    package var isOutputBroken: Bool { if case .receiving = state { true } else { false } }

    /// True if both close frames are known.
    package var hasBothFrames: Bool {
        switch state {
        case .answering, .awaitingEnd: true
        case .ended(let ending): ending.isClean
        default: false
        }
    }

    /// Handles an event and returns the actions that it causes.
    package mutating func handle(_ event: Event) -> [Action] {
        let (next, actions) = Self.transition(from: state, on: event, role: role)
        state = next
        return actions
    }

    /// The transition of an event: the next state, and the actions in their order.
    static func transition(from state: State, on event: Event, role: WebSocketRole) -> (State, [Action]) {
        switch state {
        case .open: fromOpen(event)
        case .closing(let sent, let isFlushed): fromClosing(sent, isFlushed, event, role)
        case .answering(let sent, let received, let cause):
            afterBoth(state, CurlewWebSocket.Ending(cause: cause, sent: sent, received: received), event, role)
        case .awaitingEnd(let sent, let received, let cause):
            afterBoth(state, CurlewWebSocket.Ending(cause: cause, sent: sent, received: received), event, role)
        case .failing(let sent, let violation): fromFailing(state, sent, violation, event, role)
        case .receiving(let isClosing): fromReceiving(isClosing, event)
        case .ended: (state, [])
        }
    }

    private static func fromOpen(_ event: Event) -> (State, [Action]) {
        switch event {
        case .closeRequested(let status):
            return (.closing(sent: status, isFlushed: false), [.sendClose(status), .startTimer])
        case .closeReceived(let status):
            // The answer repeats the peer's code (RFC 6455 §5.5.1), but not its reason.
            let answer = CurlewWebSocket.CloseStatus(status.code) ?? .withoutCode
            return (
                .answering(sent: answer, received: status, cause: .closedByPeer), [.sendClose(answer), .startTimer]
            )
        case .peerViolated(let violation):
            let status = CurlewWebSocket.CloseStatus(violation)
            return (.failing(sent: status, violation: violation), [.sendClose(status), .startTimer])
        case .connectionEnded: return end(CurlewWebSocket.Ending(cause: .connectionLost, sent: nil, received: nil))
        case .outputBroke: return (.receiving(isClosing: false), [.startTimer])
        case .closeFlushed, .timedOut: return (.open, [])
        }
    }

    private static func fromClosing(
        _ sent: CurlewWebSocket.CloseStatus, _ isFlushed: Bool, _ event: Event, _ role: WebSocketRole
    ) -> (State, [Action]) {
        switch event {
        case .closeFlushed: return (.closing(sent: sent, isFlushed: true), [])
        case .closeReceived(let received):
            guard isFlushed else { return (.answering(sent: sent, received: received, cause: .closedLocally), []) }
            guard role == .client else {
                return end(CurlewWebSocket.Ending(cause: .closedLocally, sent: sent, received: received))
            }
            return (.awaitingEnd(sent: sent, received: received, cause: .closedLocally), [])
        case .peerViolated(let violation):
            // A second close frame must not follow the first.
            return end(CurlewWebSocket.Ending(cause: .violation(violation.description), sent: sent, received: nil))
        case .connectionEnded: return end(CurlewWebSocket.Ending(cause: .connectionLost, sent: sent, received: nil))
        case .timedOut: return end(CurlewWebSocket.Ending(cause: .timedOut, sent: sent, received: nil))
        case .outputBroke where !isFlushed: return (.receiving(isClosing: true), [])
        case .closeRequested, .outputBroke: return (.closing(sent: sent, isFlushed: isFlushed), [])
        }
    }

    /// The transitions after both close frames. The server ends the connection first, so TCP's wait for late segments
    /// is at the server. The client can reconnect at once (RFC 6455 §7.1.1).
    private static func afterBoth(
        _ state: State, _ ending: CurlewWebSocket.Ending, _ event: Event, _ role: WebSocketRole
    ) -> (State, [Action]) {
        switch event {
        case .closeFlushed:
            guard role == .client, let sent = ending.sent, let received = ending.received else { return end(ending) }
            return (.awaitingEnd(sent: sent, received: received, cause: ending.cause), [])
        case .outputBroke:
            guard case .answering = state else { return (state, []) }
            return end(CurlewWebSocket.Ending(cause: ending.cause, sent: nil, received: ending.received))
        case .connectionEnded, .timedOut: return end(ending)
        case .closeRequested, .closeReceived, .peerViolated: return (state, [])
        }
    }

    /// The transitions after a violation. A client waits for the server to end the connection. A close at once, with
    /// unread bytes, would reset the connection and could destroy the close frame in transit.
    private static func fromFailing(
        _ state: State, _ sent: CurlewWebSocket.CloseStatus, _ violation: WebSocketViolation, _ event: Event,
        _ role: WebSocketRole
    ) -> (State, [Action]) {
        let ending = CurlewWebSocket.Ending(cause: .violation(violation.description), sent: sent, received: nil)
        switch event {
        case .closeFlushed: return role == .server ? end(ending) : (state, [])
        case .connectionEnded, .timedOut, .outputBroke: return end(ending)
        case .closeRequested, .closeReceived, .peerViolated: return (state, [])
        }
    }

    private static func fromReceiving(_ isClosing: Bool, _ event: Event) -> (State, [Action]) {
        switch event {
        case .closeRequested: return (.receiving(isClosing: true), [])
        case .closeReceived(let received):
            let cause: CurlewWebSocket.Ending.Cause = isClosing ? .closedLocally : .closedByPeer
            return end(CurlewWebSocket.Ending(cause: cause, sent: nil, received: received))
        case .peerViolated(let violation):
            return end(
                CurlewWebSocket.Ending(cause: .violation(violation.description), sent: nil, received: nil))
        case .connectionEnded, .timedOut:
            return end(CurlewWebSocket.Ending(cause: .connectionLost, sent: nil, received: nil))
        case .closeFlushed, .outputBroke: return (.receiving(isClosing: isClosing), [])
        }
    }

    private static func end(_ ending: CurlewWebSocket.Ending) -> (State, [Action]) {
        (.ended(ending), [.closeConnection, .finish(ending)])
    }
}
