/// The time limits of a request.
///
/// ``unlimited`` is no limit. Zero and negative durations are none of these: a session or a request that has one fails with
/// ``ErrorCode/invalidRequest``, before anything is sent.
///
/// ```swift
/// configuration.timeouts = Timeouts(head: .seconds(5), total: .seconds(60))
/// configuration.timeouts.idle = Timeouts.unlimited
/// ```
public struct Timeouts: Sendable, Hashable, Codable {
    /// While the session's connections are all taken, until the request has one or begins to make one: the bounds of
    /// ``ConnectionLimits`` are reached, or a connection is being made that it may be able to share. 10 seconds by default.
    ///
    /// Waiting for a turn in the session (``SessionConfiguration/tasksInFlight``) does not count, nor does the time for
    /// which the task is suspended: after that the limit begins anew.
    public var connectionWait: Duration
    /// From the start of connecting until a connection can carry the request: address look-up, TCP and TLS.
    /// 10 seconds by default; libcurl counts to 24 days at most. Waiting for a free connection does not count.
    public var connect: Duration
    /// From the moment that the request, its body included, was handed to the system until the first byte of an answer,
    /// which may be an interim one. 30 seconds by default.
    ///
    /// So an attempt that a server does not answer leaves time for another. A long poll needs more. The limit does not run
    /// while the task is suspended, and begins anew after that. Over TLS and HTTP/2 what counts is the first line of the head.
    public var head: Duration
    /// Without a byte either way once the request has a connection. 60 seconds by default, as in Foundation.
    /// It does not run while the caller holds the transfer back.
    public var idle: Duration
    /// From the start of the task, its waiting in the queue included, to the last byte. No limit by default. It holds for
    /// each request that ``Redirects`` or ``Retry`` sends; ``RequestOptions/totalTimeout`` is for the whole call.
    public var total: Duration

    /// No limit, for each of the timeouts, and for those of a request: nil there means that of the session.
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
