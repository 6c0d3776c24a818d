/// Something that happened in a session.
public struct SessionEvent: Sendable {
    /// What happened.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A task started, or its bytes flow again.
        public static let resumed = Kind(rawValue: "resumed")
        /// A task's bytes were stopped.
        public static let suspended = Kind(rawValue: "suspended")
        /// A task ended, well or not.
        public static let completed = Kind(rawValue: "completed")
        /// A task could not connect as there is no network, and its request waits for one; ``SessionEvent/error`` says how
        /// it failed. See ``WaitsForConnectivity``.
        public static let waitingForConnectivity = Kind(rawValue: "waiting-for-connectivity")
        /// The network changed, and the session let its connections go; see ``SessionActor/followNetworkChanges(_:)``.
        public static let networkChanged = Kind(rawValue: "network-changed")
        /// The session takes no more tasks.
        public static let invalidated = Kind(rawValue: "invalidated")

        public var description: String { rawValue }
    }

    public let kind: Kind
    /// The task that it happened to.
    public let task: TaskActor?
    /// The error that the task ended with, or that its request waits after.
    public let error: CurlewError?
    /// The task's figures, when it ended.
    public let metrics: TaskMetrics?
}
