/// A change of the state of a ``CircuitBreaker``.
public struct CircuitTransition: Sendable, Hashable {
    /// The name of the group: an origin such as `https://api.example.com:443`, a tag, or what a closure named.
    public let group: String
    public let from: State
    public let to: State
    /// The calls of the window that led to it; of the probes, if it was half-open.
    public let calls: Int
    /// Those of them that failed.
    public let failures: Int
    /// Those of them that were slow.
    public let slowCalls: Int
    /// The time until requests are sent again, if it is open now; else zero.
    public let wait: Duration

    package init(
        group: String, from: State, to: State, calls: Int, failures: Int, slowCalls: Int, wait: Duration
    ) {
        self.group = group
        self.from = from
        self.to = to
        self.calls = calls
        self.failures = failures
        self.slowCalls = slowCalls
        self.wait = wait
    }
}

extension CircuitTransition {
    /// The state of a ``CircuitBreaker`` for a group of requests.
    public struct State: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Requests are sent.
        public static let closed = State(rawValue: "closed")
        /// Nothing is sent.
        public static let open = State(rawValue: "open")
        /// A few requests are sent, to find out whether the server is well again.
        public static let halfOpen = State(rawValue: "half-open")

        public var description: String { rawValue }
    }
}
