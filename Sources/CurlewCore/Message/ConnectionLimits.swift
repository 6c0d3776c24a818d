/// The limits of the connections that a session keeps. <doc:Connections> explains which of them to set.
///
/// Each event loop of the session has its own pool with these limits. A time of zero or less fails with
/// ``ErrorCode/invalidRequest`` when the session is made; only ``nameLifetime`` may be zero.
///
/// Retired connections (``SessionActor/retireConnections()``), which only finish their present exchanges, do not count.
public struct ConnectionLimits: Sendable, Hashable, Codable {
    /// The most connections to one host. Further requests wait, at most for ``Timeouts/connectionWait``. 64 by default;
    /// 0 means no limit.
    ///
    /// A server makes more requests at a time than a browser: with a browser's limit of six the seventh would wait.
    public var perHost: Int
    /// The most connections in all. 0, the default, means no limit.
    public var total: Int
    /// The most connections that are kept open without a request. 64 by default, at least 1.
    public var idle: Int
    /// The time for which a connection without a request is kept. Whole seconds are used, rounded up. 60 seconds by
    /// default.
    public var idleLifetime: Duration
    /// The most streams on one HTTP/2 connection; the server may allow fewer. 0, the default, uses the server's limit
    /// (`SETTINGS_MAX_CONCURRENT_STREAMS`, RFC 9113 §6.5.2).
    public var streamsPerConnection: Int

    /// The age at which a connection stops accepting requests. Its present requests finish, and it is closed after the
    /// last of them. nil, the default, means no limit.
    ///
    /// The limit makes clients connect again to the servers behind a load balancer, and so spreads them. A limit of
    /// some minutes costs very little; a limit shorter than a request gives each request its own connection.
    public var maximumAge: Duration?
    /// The most requests that a connection carries; it is closed after the last. 0, the default, means no limit.
    ///
    /// Requests that libcurl itself repeats to answer a challenge count once.
    public var maximumUses: Int
    /// The time without a byte from the server after which a connection accepts no new request, whether it is idle or
    /// in use. nil, the default, means no limit.
    ///
    /// A dead server, or a router that has lost the connection's state, sends nothing. Requests that are already on the
    /// connection are limited by ``Timeouts/idle`` and ``Timeouts/head``.
    public var silenceTimeout: Duration?
    /// The time of silence after which the system probes the peer, and the time between the probes (TCP keep-alive,
    /// `SO_KEEPALIVE`, RFC 9293 §3.8.4). 15 seconds by default; nil sends no probes.
    ///
    /// After three probes without an answer the system ends the connection. Whole seconds are used, rounded up, at most
    /// nine hours. The probes also keep routers from dropping an idle connection. They are not sent over Unix sockets.
    public var keepAliveInterval: Duration?
    /// The time for which the addresses of a name are used for new connections. Whole seconds are used, rounded up. 60
    /// seconds by default.
    ///
    /// The system's resolver does not report how long its addresses are valid. Zero resolves the name for each
    /// connection; ``Timeouts/unlimited`` resolves it once.
    ///
    /// Open connections stay open: with ``maximumAge`` they follow a name that moves.
    public var nameLifetime: Duration

    public init(
        perHost: Int = 64,
        total: Int = 0,
        idle: Int = 64,
        idleLifetime: Duration = .seconds(60),
        streamsPerConnection: Int = 0,
        maximumAge: Duration? = nil,
        maximumUses: Int = 0,
        silenceTimeout: Duration? = nil,
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
        self.silenceTimeout = silenceTimeout
        self.keepAliveInterval = keepAliveInterval
        self.nameLifetime = nameLifetime
    }
}

extension ConnectionLimits {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a time outside its bounds.
    func check() throws {
        try Timeouts.check(idleLifetime, "idleLifetime")
        try Timeouts.check(maximumAge, "maximumAge")
        try Timeouts.check(silenceTimeout, "silenceTimeout")
        try Timeouts.check(keepAliveInterval, "keepAliveInterval")
        guard nameLifetime >= .zero else {
            throw CurlewError(.invalidRequest, "nameLifetime is \(nameLifetime.text); zero looks up each name again")
        }
    }
}
