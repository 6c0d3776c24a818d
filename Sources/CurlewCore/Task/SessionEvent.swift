public import HTTPTypes

/// An event of a session. ``SessionEvent/Stream`` documents the order of events.
public struct SessionEvent: Sendable {
    /// The kind of an event.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A task has started, or its transfer has resumed.
        public static let resumed = Kind(rawValue: "resumed")
        /// A task's transfer was suspended.
        public static let suspended = Kind(rawValue: "suspended")
        /// A task has ended, successfully or not: once for each task.
        public static let completed = Kind(rawValue: "completed")
        /// A task's body was completely written to a file, which now has its final name; ``SessionEvent/file`` is its
        /// path.
        public static let moved = Kind(rawValue: "moved")
        /// A task's body was completely written, but the file could not be renamed. ``SessionEvent/file`` is its
        /// present path, ``SessionEvent/error`` the reason.
        public static let moveFailed = Kind(rawValue: "move-failed")
        /// A response serializer has created a value from a task's response, or has failed.
        public static let serialized = Kind(rawValue: "serialized")
        /// A task could not connect because the network is away, and its request waits. ``SessionEvent/error`` is the
        /// failure. See ``ConnectivityWait``.
        public static let waitingForConnectivity = Kind(rawValue: "waiting-for-connectivity")
        /// The network changed, and the session retired its connections; see ``SessionActor/followNetworkChanges(_:)``.
        public static let networkChanged = Kind(rawValue: "network-changed")
        /// A ``CircuitBreaker`` of the session has opened, half-opened or closed a circuit; see
        /// ``SessionEvent/circuit``.
        public static let circuitChanged = Kind(rawValue: "circuit-changed")
        /// The session was invalidated, and its last task has ended.
        public static let invalidated = Kind(rawValue: "invalidated")

        public var description: String { rawValue }
    }

    /// The work of a response serializer.
    public struct Serialization: Sendable {
        /// The serializer's type, such as `JSONResponseSerializer<User>`.
        public let serializer: String
        /// The bytes that were read, at most ``SessionConfiguration/eventBodyLimit``; empty for a serializer of
        /// incomplete bodies.
        public let body: [UInt8]
        /// The number of bytes that were read.
        public let bodySize: ByteSize
        /// The created value; nil after a failure, whose error is in the event.
        public let value: (any Sendable)?
    }

    /// The kind of the event.
    public let kind: Kind
    private let exchange: Exchange?
    /// The task of the event.
    public var task: TaskActor? { exchange?.face }
    /// The identifier of the task.
    public var taskIdentifier: TaskActor.Identifier? {
        exchange.map { TaskActor.Identifier(number: $0.number) }
    }
    /// The error of the task, the serializer or the session, the failure that causes a wait, or the reason why a file
    /// was not moved.
    public internal(set) var error: CurlewError?
    /// The task's metrics, after its end.
    public internal(set) var metrics: TaskMetrics?
    /// The head of the task's response, after its end or serialization.
    public internal(set) var response: HTTPResponse?
    /// The work of the serializer.
    public internal(set) var serialization: Serialization?
    /// The path of the moved file; if moving failed, its present path.
    public internal(set) var file: String?
    /// The change of a circuit.
    public internal(set) var circuit: CircuitTransition?

    init(_ kind: Kind, of exchange: Exchange? = nil) {
        self.kind = kind
        self.exchange = exchange
    }
}
