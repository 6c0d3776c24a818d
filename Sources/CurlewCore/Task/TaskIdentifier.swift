extension TaskActor {
    /// The number of a task, unique within the process and never reused.
    public struct Identifier: Sendable, Hashable, Comparable, CustomStringConvertible {
        let number: UInt64

        public var description: String { "task-\(number)" }

        public static func < (left: TaskActor.Identifier, right: TaskActor.Identifier) -> Bool {
            left.number < right.number
        }
    }
}

extension TaskActor {
    /// The purpose of a task.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The caller gets the response.
        public static let data = TaskActor.Kind(rawValue: "data")
        /// The response's body is written to a file: an attempt of a ``DownloadTask``, or a task that has become a
        /// download.
        public static let download = TaskActor.Kind(rawValue: "download")
        /// The task sends a body; the caller gets the response.
        public static let upload = TaskActor.Kind(rawValue: "upload")

        public var description: String { rawValue }
    }
}

extension RequestOptions {
    private enum KindKey: SourceKey { static let defaultValue = TaskActor.Kind.data }
    private enum OnTaskKey: SourceKey { static let defaultValue: (@Sendable (TaskActor) -> Void)? = nil }

    /// The purpose of the task of each attempt.
    package var kind: TaskActor.Kind {
        get { self[KindKey.self] }
        set { self[KindKey.self] = newValue }
    }

    /// Called on the caller's executor with the task of each attempt, before it starts, for example to follow its
    /// progress.
    public var onTask: (@Sendable (TaskActor) -> Void)? {
        get { self[OnTaskKey.self] }
        set { self[OnTaskKey.self] = newValue }
    }
}
