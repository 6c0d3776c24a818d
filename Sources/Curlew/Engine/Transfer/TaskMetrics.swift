public import FoundationEssentials

/// What a task took, an attempt each: more than one if a kept connection proved to be dead.
public struct TaskMetrics: Sendable, Hashable {
    /// The attempts, first to last. Empty as long as none has ended.
    public internal(set) var attempts: [Attempt] = []
    /// When it was started, by the clock on the wall; nil if it was not.
    public internal(set) var start: Date?
    /// From the start to the end, or up to now: waiting in the session's queue, all attempts, and the reading of the body.
    public internal(set) var duration: Duration = .zero
    /// For how long of it the task was suspended.
    public internal(set) var suspended: Duration = .zero

    /// When it ended, or up to when these figures go.
    public var end: Date? { start?.addingTimeInterval(duration / .seconds(1)) }
    /// The last attempt.
    public var last: Attempt? { attempts.last }
    /// Bytes of the request's body, all attempts together.
    public var sentBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.sentBodyBytes } }
    /// Bytes of the response's body, before content decoding, all attempts together.
    public var receivedBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.receivedBodyBytes } }
}
