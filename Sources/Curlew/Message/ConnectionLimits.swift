/// The limits of the connections that a session keeps. Each event loop of the session has its own pool with these
/// bounds. A time of zero or less is ``ErrorCode/invalidRequest`` when the session is made, but for ``nameLifetime``, which
/// may be zero. <doc:Connections> says which of them to set, and why.
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
    /// default.
    public var idleLifetime: Duration
    /// Streams on one HTTP/2 connection; the server may allow fewer. 0, the default, leaves it to the server
    /// (`SETTINGS_MAX_CONCURRENT_STREAMS`, RFC 9113 §6.5.2).
    public var streamsPerConnection: Int

    /// The age from which on a connection takes no new request; what is under way on it goes on, and it is closed when
    /// the last has ended. nil, the default, is no limit.
    ///
    /// It spreads clients anew over the servers behind a balancer. A limit of some minutes costs next to nothing; one that
    /// is shorter than a request takes gives each request a connection of its own.
    public var maximumAge: Duration?
    /// The most requests that a connection carries; it is closed after the last. 0, the default, is no limit.
    ///
    /// Requests that libcurl repeats by itself to answer a challenge count once.
    public var maximumUses: Int
    /// The time without a byte from the server after which a connection, be it idle or shared with other requests, takes
    /// no new request. nil, the default, is no limit.
    ///
    /// A machine on the way that has forgotten a connection says nothing, and so does a server that has died. What is
    /// under way has ``Timeouts/idle`` and ``Timeouts/head``.
    public var silence: Duration?
    /// The time of silence after which the system asks whether the peer is still there, and the time between that and the
    /// next two probes (TCP keep-alive, `SO_KEEPALIVE`, RFC 9293 §3.8.4). After three without an answer it ends the
    /// connection. Whole seconds are used, rounded up, nine hours at most. 15 seconds by default; nil sends none.
    ///
    /// The probes also keep machines on the way from forgetting an idle connection. They do not go over Unix sockets.
    public var keepAliveInterval: Duration?
    /// The time for which the addresses that were found for a name are used for new connections, as the system's resolver does
    /// not tell for how long they hold. Whole seconds are used, rounded up. 60 seconds by default.
    /// Zero looks the name up for each connection; ``Timeouts/unlimited`` never looks it up again.
    ///
    /// Connections that are open stay: with ``maximumAge`` they follow a name that moves.
    public var nameLifetime: Duration

    public init(
        perHost: Int = 64,
        total: Int = 0,
        idle: Int = 64,
        idleLifetime: Duration = .seconds(60),
        streamsPerConnection: Int = 0,
        maximumAge: Duration? = nil,
        maximumUses: Int = 0,
        silence: Duration? = nil,
        keepAliveInterval: Duration? = .seconds(15),
        nameLifetime: Duration = .seconds(60)
    ) {
        self.perHost = max(0, perHost)
        self.total = max(0, total)
        self.idle = max(1, idle)
        self.idleLifetime = idleLifetime
        self.streamsPerConnection = max(0, streamsPerConnection)
        self.maximumAge = maximumAge
        self.maximumUses = max(0, maximumUses)
        self.silence = silence
        self.keepAliveInterval = keepAliveInterval
        self.nameLifetime = nameLifetime
    }
}

extension ConnectionLimits {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a time that is none.
    func check() throws {
        try Timeouts.check(idleLifetime, "idleLifetime")
        try Timeouts.check(maximumAge, "maximumAge")
        try Timeouts.check(silence, "silence")
        try Timeouts.check(keepAliveInterval, "keepAliveInterval")
        guard nameLifetime >= .zero else {
            throw CurlewError(.invalidRequest, "nameLifetime is \(nameLifetime); zero looks each name up anew")
        }
    }
}
