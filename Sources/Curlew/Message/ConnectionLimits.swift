/// The limits of the connections that a session keeps. Each event loop of the session has its own pool with these
/// bounds.
///
/// Retired connections (``SessionActor/retireConnections()``), which only serve what is under way, do not count.
public struct ConnectionLimits: Sendable, Hashable, Codable {
    /// Connections to one host at a time; what exceeds them waits, ``Timeouts/connectionWait`` at most. 64 by default: a server is no
    /// browser, and six would make the seventh request wait. 0 is no limit.
    public var perHost: Int
    /// Connections in all. 0, the default, is no limit.
    public var total: Int
    /// Connections kept open without a request. 64 by default, 1 at least.
    public var idle: Int
    /// The time for which a connection is kept without a request; whole seconds are used, rounded up. 60 seconds by
    /// default. Zero and less are ``ErrorCode/invalidRequest`` when the session is made.
    public var idleLifetime: Duration
    /// Streams on one HTTP/2 connection; the server may allow fewer. 0, the default, leaves it to the server
    /// (`SETTINGS_MAX_CONCURRENT_STREAMS`, RFC 9113 §6.5.2); until it has said how many, there are 100 at most.
    public var streamsPerConnection: Int

    public init(
        perHost: Int = 64,
        total: Int = 0,
        idle: Int = 64,
        idleLifetime: Duration = .seconds(60),
        streamsPerConnection: Int = 0
    ) {
        self.perHost = max(0, perHost)
        self.total = max(0, total)
        self.idle = max(1, idle)
        self.idleLifetime = idleLifetime
        self.streamsPerConnection = max(0, streamsPerConnection)
    }
}
