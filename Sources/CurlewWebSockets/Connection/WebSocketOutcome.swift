internal import Curlew

/// The outcome of a WebSocket: its ending, and the errors that its tasks receive.
struct WebSocketOutcome {
    /// The ending; nil while the WebSocket is open or closing.
    private(set) var ending: CurlewWebSocket.Ending?
    /// The error that has ended the connection.
    private var failure: CurlewError?
    /// True if the WebSocket is closed because of its idle timeout.
    private var isIdle = false

    /// Records the error that ends the connection. Only the first error counts.
    mutating func noteFailure(_ error: CurlewError) { failure = failure ?? error }

    /// Records that the WebSocket is closed because of its idle timeout.
    mutating func noteIdle() { isIdle = true }

    mutating func finish(_ ending: CurlewWebSocket.Ending) { self.ending = named(ending) }

    /// The ending, with the idle timeout as its cause. The closing handshake does not know that cause.
    private func named(_ ending: CurlewWebSocket.Ending) -> CurlewWebSocket.Ending {
        guard isIdle else { return ending }
        switch ending.cause {
        case .closedByPeer, .violation, .idle: return ending
        case .closedLocally, .connectionLost, .timedOut:
            return CurlewWebSocket.Ending(cause: .idle, sent: ending.sent, received: ending.received)
        }
    }

    /// The error of an ending; nil if either side has closed the WebSocket.
    func error(of ending: CurlewWebSocket.Ending) -> CurlewError? {
        let ending = named(ending)
        return switch ending.cause {
        case .closedByPeer, .closedLocally: nil
        case .idle where ending.isClean: nil
        case .idle:
            failure ?? CurlewError(.idleTimeout, "no message came or went, and the peer did not answer the close frame")
        case .violation(let text): CurlewError(.webSocketFailed, "the peer broke the protocol: \(text)")
        case .connectionLost:
            failure ?? CurlewError(.connectionLost, "the connection ended without a close frame")
        case .timedOut: CurlewError(.webSocketFailed, "the peer did not answer the close frame in time")
        }
    }

    /// The error that has ended the messages; nil if they have not ended, or either side has closed the WebSocket.
    var error: CurlewError? { ending.flatMap { error(of: $0) } }

    /// The error of a task that can no longer send.
    var sendingError: CurlewError {
        (ending == nil ? failure : error) ?? CurlewError(.webSocketClosed, "the WebSocket is closed")
    }
}
