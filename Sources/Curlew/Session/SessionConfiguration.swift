/// How a session works: a value that can be compared, copied, stored and sent.
public struct SessionConfiguration: Sendable, Hashable, Codable {
    /// The time limits of each request.
    public var timeouts = Timeouts()
    /// The limits of the connections that are kept.
    public var connections = ConnectionLimits()
    /// Bounds on what a response may send.
    public var limits = CurlewResponse.Limits()
    /// Which versions of HTTP to use.
    public var versionPolicy = HTTPVersionPolicy.negotiated
    /// Where to connect to, and from where.
    public var route = ConnectionRoute()
    /// Which addresses may be connected to.
    public var addressPolicy = AddressPolicy.any
    /// Which proxies to go through.
    public var proxy = ProxyConfiguration.none
    /// Whom to trust at the other end.
    public var security = SecurityPolicy.system
    /// The User-Agent of requests that do not have the field themselves (RFC 9110 §10.1.5): the program's name and Curlew's
    /// version, `importer Curlew/0.1`. An executable on Linux carries no version; ``userAgent(program:version:)`` makes a text with
    /// one. nil sends none. A text that may not stand in a field fails the making of the session.
    public var userAgent: String? = UserAgent.ofProcess.text
    /// The most bytes of a body that wait for its reader, or for the network, before its transfer pauses. 1 MiB by
    /// default.
    public var bodyBufferSize: ByteSize = .mebibytes(1)
    /// The size of the buffer that sockets are read into: 1 KiB to 10 MiB, 256 KiB by default.
    public var readBufferSize: ByteSize = .kibibytes(256)
    /// The most tasks under way at a time on each event loop of the session; what exceeds it waits its turn.
    /// 20,000 by default.
    public var tasksInFlight = 20_000
    /// How fast the bodies of all the session's tasks together may flow. No limit by default;
    /// ``SessionActor/setRateLimit(_:)`` changes it under way.
    public var rateLimit = RateLimit.none
    /// The shortest time between two elements of a task's progress. 50 ms by default: 20 a second.
    public var progressInterval: Duration = .milliseconds(50)
    /// The longest wait of a request for the network to come back if it could not connect because there is none; see
    /// ``ConnectivityWait``. nil, the default, and zero wait for nothing.
    public var connectivityTimeout: Duration?
    /// The most events that wait for a listener that is behind; beyond them the oldest are dropped. 1,000 by default.
    public var eventBufferSize = 1000
    /// The most bytes of a body that an event keeps (``SessionEvent/Serialization/body``). 64 KiB by default.
    public var eventBodyLimit: ByteSize = .kibibytes(64)

    public init() {}

    /// A User-Agent of a program and Curlew: `importer/1.4 Curlew/0.1`.
    /// - Parameters:
    ///   - program: The name of the program; nil is that of the executable.
    ///   - version: Its version. What may not stand in either is left out.
    public static func userAgent(program: String? = nil, version: String) -> String {
        UserAgent(program: program ?? UserAgent.executable ?? "", version: version).text
    }
}
