/// The limits of the connections that a session keeps. Each event loop of the session has its own pool with these
/// bounds.
///
/// Retired connections (``SessionActor/retireConnections()``), which only serve what is under way, do not count.
public struct ConnectionLimits: Sendable, Hashable, Codable {
    /// Connections to one host at a time; what exceeds them waits. 6 by default, as in Foundation. 0 is no limit.
    public var perHost: Int
    /// Connections in all. 0, the default, is no limit.
    public var total: Int
    /// Connections kept open without a request. 64 by default, 1 at least.
    public var idle: Int
    /// The time for which a connection is kept without a request; whole seconds are used, rounded up. 60 seconds by
    /// default.
    public var idleLifetime: Duration
    /// Streams on one HTTP/2 connection; the server may allow fewer. 100 by default.
    public var streamsPerConnection: Int

    public init(
        perHost: Int = 6,
        total: Int = 0,
        idle: Int = 64,
        idleLifetime: Duration = .seconds(60),
        streamsPerConnection: Int = 100
    ) {
        self.perHost = max(0, perHost)
        self.total = max(0, total)
        self.idle = max(1, idle)
        self.idleLifetime = idleLifetime
        self.streamsPerConnection = max(1, streamsPerConnection)
    }
}
