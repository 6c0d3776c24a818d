public import FoundationEssentials

/// The timings and byte counts of a task, one entry per attempt. A task has several attempts if a reused connection
/// proved to be dead.
public struct TaskMetrics: Sendable, Hashable {
    /// The attempts, in order. Empty until the first has ended.
    public internal(set) var attempts: [Attempt] = []
    /// The wall-clock time of the start; nil before it.
    public internal(set) var start: Date?
    /// The time from the start to the end, or so far: waiting in the session's queue, all attempts, and reading the
    /// body.
    public internal(set) var duration: Duration = .zero
    /// The part of the duration for which the task was suspended.
    public internal(set) var suspended: Duration = .zero

    /// The time of the end, or of this measurement.
    public var end: Date? { start?.addingTimeInterval(duration / .seconds(1)) }
    /// The last attempt.
    public var last: Attempt? { attempts.last }
    /// The bytes of the request's body, over all attempts.
    public var sentBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.sentBodyBytes } }
    /// The bytes of the response's body before content decoding, over all attempts.
    public var receivedBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.receivedBodyBytes } }
}
