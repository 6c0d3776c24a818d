public import HTTPTypes

/// Something that happened in a session; ``SessionEvent/Stream`` tells in which order.
public struct SessionEvent: Sendable {
    /// What happened.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A task started, or its bytes flow again.
        public static let resumed = Kind(rawValue: "resumed")
        /// A task's bytes were stopped.
        public static let suspended = Kind(rawValue: "suspended")
        /// A task ended, well or not: once for each.
        public static let completed = Kind(rawValue: "completed")
        /// A task's body was written whole into a file, which has its name now; ``SessionEvent/file`` is its path.
        public static let moved = Kind(rawValue: "moved")
        /// A task's body was written whole, and the file could not be given its name; ``SessionEvent/file`` says where it is
        /// left, ``SessionEvent/error`` why.
        public static let moveFailed = Kind(rawValue: "move-failed")
        /// A response serializer made a value of a task's response, or failed to.
        public static let serialized = Kind(rawValue: "serialized")
        /// A task could not connect as there is no network, and its request waits for one; ``SessionEvent/error`` says how
        /// it failed. See ``ConnectivityWait``.
        public static let waitingForConnectivity = Kind(rawValue: "waiting-for-connectivity")
        /// The network changed, and the session let its connections go; see ``SessionActor/followNetworkChanges(_:)``.
        public static let networkChanged = Kind(rawValue: "network-changed")
        /// A ``CircuitBreaker`` of the session opened, half-opened or closed a circuit; ``SessionEvent/circuit`` says which.
        public static let circuitChanged = Kind(rawValue: "circuit-changed")
        /// The session was invalidated, and the last of its tasks has ended.
        public static let invalidated = Kind(rawValue: "invalidated")

        public var description: String { rawValue }
    }

    /// What a response serializer did.
    public struct Serialization: Sendable {
        /// The serializer's type, such as `JSONResponseSerializer<User>`.
        public let serializer: String
        /// The bytes that it read, at most ``SessionConfiguration/eventBodyLimit`` of them; empty if it reads no whole bodies.
        public let body: [UInt8]
        /// The number of bytes that it read.
        public let bodySize: ByteSize
        /// The value that it made; nil if it failed, and the event has the error.
        public let value: (any Sendable)?
    }

    /// What happened.
    public let kind: Kind
    private let exchange: Exchange?
    /// The task that it happened to.
    public var task: TaskActor? { exchange?.face }
    /// The number of that task.
    public var taskIdentifier: TaskActor.Identifier? {
        exchange.map { TaskActor.Identifier(number: $0.number) }
    }
    /// The error that the task, the serializer or the session ended with, that its request waits after, or that kept a file
    /// from being moved.
    public internal(set) var error: CurlewError?
    /// The task's figures, when it ended.
    public internal(set) var metrics: TaskMetrics?
    /// The head of the task's response, when it ended or was serialized.
    public internal(set) var response: HTTPResponse?
    /// What the serializer did.
    public internal(set) var serialization: Serialization?
    /// The file that was moved, or where it is if that failed.
    public internal(set) var file: String?
    /// The change of a circuit.
    public internal(set) var circuit: CircuitTransition?

    init(_ kind: Kind, of exchange: Exchange? = nil) {
        self.kind = kind
        self.exchange = exchange
    }
}
