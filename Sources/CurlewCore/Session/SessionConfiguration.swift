/// The configuration of a session: a value that can be compared, copied, stored and sent.
///
/// ```swift
/// let configuration = SessionConfiguration(timeouts: Timeouts(total: .seconds(30)), versionPolicy: .http11)
/// ```
public struct SessionConfiguration: Sendable, Hashable, Codable {
    /// The time limits of each request.
    public var timeouts: Timeouts
    /// The limits of the connections and of their pool.
    public var connections: ConnectionLimits
    /// Bounds on the head and the collected body of a response.
    public var limits: CurlewResponse.Limits
    /// The permitted versions of HTTP.
    public var versionPolicy: HTTPVersionPolicy
    /// The local and the remote end of connections.
    public var route: ConnectionRoute
    /// The addresses to which connections are permitted.
    public var addressPolicy: AddressPolicy
    /// The proxies of connections.
    public var proxy: Proxy.Configuration
    /// The trust in servers.
    public var security: SecurityPolicy
    /// The User-Agent of requests that do not set the field themselves (RFC 9110 §10.1.5). The default contains the
    /// program's name and Curlew's version: `importer Curlew/0.1.0`. An executable on Linux has no version;
    /// ``userAgent(program:version:)`` makes a text with a version. nil omits the field. A text that is not a valid
    /// field value makes the session's initializer throw.
    public var userAgent: String?
    /// The greatest number of bytes of a body that wait for its reader, or for the network, before its transfer pauses.
    /// 1 MiB by default.
    public var bodyBufferSize: ByteSize
    /// The size of the buffer for reading sockets: 1 KiB to 10 MiB, 256 KiB by default.
    public var readBufferSize: ByteSize
    /// The greatest number of running tasks on each event loop of the session; further tasks wait in a queue. 20,000 by
    /// default.
    public var tasksInFlight: Int
    /// The greatest rate of the bodies of all the session's tasks together. No limit by default;
    /// ``SessionActor/setRateLimit(_:)`` changes it while tasks run.
    public var rateLimit: RateLimit
    /// The shortest time between two elements of a task's progress. 50 ms by default: 20 a second.
    public var progressInterval: Duration
    /// The longest wait for the network to return, for a request that could not connect without a network; see
    /// ``ConnectivityWait``. nil, the default, and zero disable the wait.
    public var connectivityTimeout: Duration?
    /// The greatest number of events that wait for a slow listener; beyond it the oldest are dropped. 1,000 by default.
    public var eventBufferSize: Int
    /// The greatest number of bytes of a body that an event keeps (``SessionEvent/Serialization/body``). 64 KiB by
    /// default.
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

    /// A User-Agent of a program and Curlew: `importer/1.4 Curlew/0.1.0`.
    /// - Parameters:
    ///   - program: The name of the program; nil is that of the executable.
    ///   - version: Its version. Characters that are invalid in either are omitted.
    public static func userAgent(program: String? = nil, version: String) -> String {
        UserAgent(program: program ?? UserAgent.executable ?? "", version: version).text
    }
}
