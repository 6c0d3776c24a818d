/// Where a task is in its life.
public enum TaskState: String, Sendable, Hashable, Codable {
    /// Not started, or stopped for the moment.
    case suspended
    /// Waiting for its turn, connecting, sending or receiving.
    case running
    /// Ended with a whole response.
    case completed
    /// Ended with an error.
    case failed
    /// Ended on our side.
    case cancelled

    /// Whether nothing can happen to the task any more.
    public var isEnd: Bool { self == .completed || self == .failed || self == .cancelled }
}
