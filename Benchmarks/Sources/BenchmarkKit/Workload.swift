/// What one request of a run does.
public enum Workload: String, Sendable, CaseIterable {
    /// Fetches a body and counts its bytes.
    case get
    /// The same, by a caller that runs on the client's own loop.
    case getOnLoop = "get-on-loop"
    /// The same, with all that a client of a service should have between the caller and the network.
    case getStandard = "get-standard"
    /// The same, with a breaker and limits on requests under way and their rate, none of which is reached.
    case getLimited = "get-limited"
    /// As with the standard chain, and metrics.
    case getMeasured = "get-measured"
    /// The same, metrics and traces of which no span is recorded, as with most calls where traces are sampled.
    case getObserved = "get-observed"
    /// The same, and every span is recorded.
    case getTraced = "get-traced"
    /// Fetches JSON and decodes it to a ``Catalogue``.
    case json
    /// Fetches a large body chunk by chunk, without keeping it.
    case stream
    /// Fetches a large body into a file.
    case download
    /// Sends a file.
    case upload

    /// Whether one request is long enough that starting up does not matter.
    var isLarge: Bool { self == .stream || self == .download || self == .upload }
}
