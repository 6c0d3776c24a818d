/// The time limits of a request.
///
/// ``unlimited`` means no limit. A session or a request with a limit of zero or less fails with
/// ``ErrorCode/invalidRequest`` before anything is sent.
///
/// ```swift
/// configuration.timeouts = Timeouts(head: .seconds(5), total: .seconds(60))
/// configuration.timeouts.idle = Timeouts.unlimited
/// ```
public struct Timeouts: Sendable, Hashable, Codable {
    /// The longest wait of a request for one of the session's connections: until it has one, or begins to make one. 10
    /// seconds by default.
    ///
    /// A request waits while the limits of ``ConnectionLimits`` are reached, or while a connection is being made that
    /// it may share. Waiting for a turn in the session (``SessionConfiguration/tasksInFlight``) does not count. Neither
    /// does the time for which the task is suspended: the limit starts again after it.
    public var connectionWait: Duration
    /// The longest time from the start of connecting until a connection can carry the request: name resolution, TCP and
    /// TLS. 10 seconds by default; libcurl's maximum is 24 days. Waiting for a free connection does not count.
    public var connect: Duration
    /// The longest time from the complete request to the first byte of a response. 30 seconds by default; a long poll
    /// needs more.
    ///
    /// The limit begins when the system has taken the request, its body included. The response may be an interim one.
    ///
    /// The limit leaves time for a further attempt if a server does not answer. It does not run while the task is
    /// suspended, and starts again after that. Over TLS and HTTP/2 the first line of the head counts.
    public var head: Duration
    /// The longest time without a byte in either direction, once the request has a connection. 60 seconds by default,
    /// as in Foundation. The limit does not run while the caller holds the transfer back.
    public var idle: Duration
    /// The longest time from the start of the task, its wait in the queue included, to the last byte. No limit by
    /// default. It applies to each request that ``Redirects`` or ``Retry`` sends; ``RequestOptions/totalTimeout``
    /// applies to the complete call.
    public var total: Duration

    /// No limit, for each timeout of a session or a request. In the options of a request, nil stands for the session's
    /// limit.
    public static let unlimited = Duration.seconds(Int64.max)

    public init(
        connectionWait: Duration = .seconds(10), connect: Duration = .seconds(10), head: Duration = .seconds(30),
        idle: Duration = .seconds(60), total: Duration = Timeouts.unlimited
    ) {
        self.connectionWait = connectionWait
        self.connect = connect
        self.head = head
        self.idle = idle
        self.total = total
    }
}

extension Timeouts {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a limit that is zero or negative.
    func check() throws {
        try Self.check(connectionWait, "connectionWait")
        try Self.check(connect, "connect")
        try Self.check(head, "head")
        try Self.check(idle, "idle")
        try Self.check(total, "total")
    }

    static func check(_ limit: Duration?, _ name: @autoclosure () -> String) throws {
        guard let limit, limit <= .zero else { return }
        throw CurlewError(
            .invalidRequest, "\(name()) is \(limit.text), which is no time limit; Timeouts.unlimited is none")
    }
}
