/// How a session works: a value that can be compared, copied, stored and sent.
///
/// ```swift
/// let configuration = SessionConfiguration(timeouts: Timeouts(total: .seconds(30)), versionPolicy: .http11)
/// ```
public struct SessionConfiguration: Sendable, Hashable, Codable {
    /// The time limits of each request.
    public var timeouts: Timeouts
    /// The limits of the connections that are kept.
    public var connections: ConnectionLimits
    /// Bounds on what a response may send.
    public var limits: CurlewResponse.Limits
    /// Which versions of HTTP to use.
    public var versionPolicy: HTTPVersionPolicy
    /// Where to connect to, and from where.
    public var route: ConnectionRoute
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy
    /// Which proxies to go through.
    public var proxy: Proxy.Configuration
    /// Whom to trust at the other end.
    public var security: SecurityPolicy
    /// The User-Agent of requests that do not have the field themselves (RFC 9110 §10.1.5): the program's name and Curlew's
    /// version, `importer Curlew/0.1`. An executable on Linux carries no version; ``userAgent(program:version:)`` makes a text with
    /// one. nil sends none. A text that may not stand in a field fails the making of the session.
    public var userAgent: String?
    /// The most bytes of a body that wait for its reader, or for the network, before its transfer pauses. 1 MiB by
    /// default.
    public var bodyBufferSize: ByteSize
    /// The size of the buffer that sockets are read into: 1 KiB to 10 MiB, 256 KiB by default.
    public var readBufferSize: ByteSize
    /// The most tasks under way at a time on each event loop of the session; what exceeds it waits its turn.
    /// 20,000 by default.
    public var tasksInFlight: Int
    /// How fast the bodies of all the session's tasks together may flow. No limit by default;
    /// ``SessionActor/setRateLimit(_:)`` changes it under way.
    public var rateLimit: RateLimit
    /// The shortest time between two elements of a task's progress. 50 ms by default: 20 a second.
    public var progressInterval: Duration
    /// The longest wait of a request for the network to come back if it could not connect because there is none; see
    /// ``ConnectivityWait``. nil, the default, and zero wait for nothing.
    public var connectivityTimeout: Duration?
    /// The most events that wait for a listener that is behind; beyond them the oldest are dropped. 1,000 by default.
    public var eventBufferSize: Int
    /// The most bytes of a body that an event keeps (``SessionEvent/Serialization/body``). 64 KiB by default.
    public var eventBodyLimit: ByteSize

    public init(
        timeouts: Timeouts = Timeouts(),
        connections: ConnectionLimits = ConnectionLimits(),
        limits: CurlewResponse.Limits = CurlewResponse.Limits(),
        versionPolicy: HTTPVersionPolicy = .negotiated,
        route: ConnectionRoute = ConnectionRoute(),
        addressPolicy: AddressPolicy = .any,
        proxy: Proxy.Configuration = .none,
        security: SecurityPolicy = .system,
        userAgent: String? = SessionConfiguration.defaultUserAgent,
        bodyBufferSize: ByteSize = .mebibytes(1),
        readBufferSize: ByteSize = .kibibytes(256),
        tasksInFlight: Int = 20_000,
        rateLimit: RateLimit = .none,
        progressInterval: Duration = .milliseconds(50),
        connectivityTimeout: Duration? = nil,
        eventBufferSize: Int = 1000,
        eventBodyLimit: ByteSize = .kibibytes(64)
    ) {
        self.timeouts = timeouts
        self.connections = connections
        self.limits = limits
        self.versionPolicy = versionPolicy
        self.route = route
        self.addressPolicy = addressPolicy
        self.proxy = proxy
        self.security = security
        self.userAgent = userAgent
        self.bodyBufferSize = bodyBufferSize
        self.readBufferSize = readBufferSize
        self.tasksInFlight = tasksInFlight
        self.rateLimit = rateLimit
        self.progressInterval = progressInterval
        self.connectivityTimeout = connectivityTimeout
        self.eventBufferSize = eventBufferSize
        self.eventBodyLimit = eventBodyLimit
    }

    /// The User-Agent of a session by default: the name of the executable and Curlew's version.
    public static var defaultUserAgent: String { UserAgent.ofProcess.text }

    /// A User-Agent of a program and Curlew: `importer/1.4 Curlew/0.1`.
    /// - Parameters:
    ///   - program: The name of the program; nil is that of the executable.
    ///   - version: Its version. What may not stand in either is left out.
    public static func userAgent(program: String? = nil, version: String) -> String {
        UserAgent(program: program ?? UserAgent.executable ?? "", version: version).text
    }
}
