/// A change of the state of a ``CircuitBreaker``.
public struct CircuitTransition: Sendable, Hashable {
    /// The name of the group: an origin such as `https://api.example.com:443`, a tag, or the result of a closure.
    public let group: String
    public let from: State
    public let to: State
    /// The number of calls in the window that caused the change, or of probes if the circuit was half-open.
    public let calls: Int
    /// The number of these calls that failed.
    public let failures: Int
    /// The number of these calls that were slow.
    public let slowCalls: Int
    /// The time until requests are sent again, if the circuit is now open; else zero.
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
        /// Requests are refused without being sent.
        public static let open = State(rawValue: "open")
        /// A few requests are sent to find out if the server has recovered.
        public static let halfOpen = State(rawValue: "half-open")

        public var description: String { rawValue }
    }
}

/// A receiver of the transitions of circuits that is not a link, such as a session.
package struct CircuitPublisher: Sendable {
    package let identifier: ObjectIdentifier
    package let isAlive: @Sendable () -> Bool
    package let publish: @Sendable (CircuitTransition) -> Void
}

/// A link that reports the transitions of its circuits.
package protocol CircuitPublishing {
    /// Adds a publisher, replacing an earlier one with the same identity.
    func add(_ publisher: CircuitPublisher)
}
