public import FoundationEssentials

/// What one attempt at an exchange took.
public struct AttemptMetrics: Sendable, Hashable {
    /// Waiting for its turn in the session.
    public internal(set) var queued: Duration = .zero
    /// Finding the address; nil on a kept connection.
    public internal(set) var nameLookup: Duration?
    /// Making the TCP connection; nil on a kept connection.
    public internal(set) var connect: Duration?
    /// Shaking hands; nil without TLS and on a kept connection.
    public internal(set) var tls: Duration?
    /// From the start to the first byte of the answer; nil if none came.
    public internal(set) var firstByte: Duration?
    /// From the start to the end, waiting in the session not included.
    public internal(set) var total: Duration = .zero
    /// Bytes of the request's head.
    public internal(set) var sentFieldBytes: Int64 = 0
    /// Bytes of the request's body.
    public internal(set) var sentBodyBytes: Int64 = 0
    /// Bytes of the response's heads.
    public internal(set) var receivedHeadBytes: Int64 = 0
    /// Bytes of the response's body, before content decoding.
    public internal(set) var receivedBodyBytes: Int64 = 0
    /// The address that was connected to, without brackets; nil if there was no connection.
    public internal(set) var remoteAddress: String?
    /// The port that was connected to.
    public internal(set) var remotePort = 0
    /// Whether it went through a proxy.
    public internal(set) var isProxied = false
    /// Whether an open connection served.
    public internal(set) var isReused = false
    /// The version of HTTP, once the head had come.
    public internal(set) var version: HTTPVersion?
    /// The version of TLS, if it was used.
    public internal(set) var tlsVersion: TLSVersion?
    /// What the TLS connection is made of, if it was used.
    public internal(set) var security: ConnectionSecurity?

    init() {}
}

/// What a task took, an attempt each: more than one if a kept connection proved to be dead.
public struct TaskMetrics: Sendable, Hashable {
    /// The attempts, first to last. Empty as long as none has ended.
    public internal(set) var attempts: [AttemptMetrics] = []
    /// When it was started, by the clock on the wall; nil if it was not.
    public internal(set) var start: Date?
    /// From the start to the end, or up to now: waiting in the session's queue, all attempts, and the reading of the body.
    public internal(set) var duration: Duration = .zero
    /// For how long of it the task was suspended.
    public internal(set) var suspended: Duration = .zero

    /// When it ended, or up to when these figures go.
    public var end: Date? { start?.addingTimeInterval(duration / .seconds(1)) }
    /// The last attempt.
    public var last: AttemptMetrics? { attempts.last }
    /// Bytes of the request's body, all attempts together.
    public var sentBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.sentBodyBytes } }
    /// Bytes of the response's body, before content decoding, all attempts together.
    public var receivedBodyBytes: Int64 { attempts.reduce(0) { $0 + $1.receivedBodyBytes } }
}
