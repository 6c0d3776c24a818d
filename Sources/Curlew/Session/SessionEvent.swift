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
        /// A task's body was written whole into a file, which has its name now; ``SessionEvent/file`` is its path.
        public static let moved = Kind(rawValue: "moved")
        /// A task's body was written whole, and the file could not be given its name; ``SessionEvent/file`` says where it is
        /// left, ``SessionEvent/error`` why.
        public static let moveFailed = Kind(rawValue: "move-failed")
        /// The session takes no more tasks.
        public static let invalidated = Kind(rawValue: "invalidated")

        public var description: String { rawValue }
    }

    public let kind: Kind
    /// The task that it happened to.
    public let task: TaskActor?
    /// The error that the task ended with, or that kept its file from being moved.
    public let error: CurlewError?
    /// The task's figures, when it ended.
    public let metrics: TaskMetrics?
    /// The file that was moved, or where it is if that failed.
    public internal(set) var file: String?
}
