/// The work of one request in a run.
public enum Workload: String, Sendable, CaseIterable {
    /// Fetches a body and counts its bytes.
    case get
    /// The workload `get`, from a caller that runs on the client's own loop.
    case getOnLoop = "get-on-loop"
    /// The workload `get`, through the standard chain that a service should use.
    case getStandard = "get-standard"
    /// The workload `get`, with a circuit breaker and limits on concurrent requests and their rate, none of which is
    /// reached.
    case getLimited = "get-limited"
    /// The workload `get` with the standard chain and metrics.
    case getMeasured = "get-measured"
    /// The workload `get` with the standard chain, metrics, and traces without recorded spans, as in most calls.
    case getObserved = "get-observed"
    /// The workload `get` with the standard chain, metrics, and traces with recorded spans.
    case getTraced = "get-traced"
    /// Fetches JSON and decodes it to a ``Catalogue``.
    case json
    /// Fetches a large body chunk by chunk and discards it.
    case stream
    /// Fetches a large body into a file.
    case download
    /// Sends a file.
    case upload
    /// Sends a message over a WebSocket and waits for its echo. Each caller has its own WebSocket.
    case webSocketEcho = "websocket-echo"
    /// The workload `websocket-echo`, from callers that run on the client's own loop.
    case webSocketEchoOnLoop = "websocket-echo-on-loop"
    /// Opens a WebSocket that stays open and waits for messages.
    case webSocketIdle = "websocket-idle"

    /// True if one request takes so long that the start-up time does not matter.
    var isLarge: Bool { self == .stream || self == .download || self == .upload }
    /// True if the callers run on the client's own loop.
    var isOnLoop: Bool { self == .getOnLoop || self == .webSocketEchoOnLoop }
}
