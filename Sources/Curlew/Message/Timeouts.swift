/// The time limits of a request. Zero or a negative duration means: no limit.
public struct Timeouts: Sendable, Hashable, Codable {
    /// From the start of connecting until a connection can carry the request: address look-up, TCP and TLS.
    /// 10 seconds by default. Waiting for a free connection does not count.
    public var connect: Duration
    /// Without a byte either way once the request has a connection. 60 seconds by default, as in Foundation.
    /// It does not run while the caller holds the transfer back.
    public var idle: Duration
    /// From the start of the task, its waiting in the queue included, to the last byte. 7 days by default. It holds for
    /// each request that ``Redirects`` or ``Retry`` sends; ``RequestOptions/totalTimeout`` is for the whole call.
    public var total: Duration

    public init(connect: Duration = .seconds(10), idle: Duration = .seconds(60), total: Duration = .seconds(604_800)) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }
}
