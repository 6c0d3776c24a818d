public import HTTPTypes

/// How one request is to be carried. What is nil is taken from the session's configuration.
public struct RequestOptions: Sendable {
    /// From the start of connecting to a usable connection; see ``Timeouts/connect``.
    public var connectTimeout: Duration?
    /// Without a byte either way; see ``Timeouts/idle``.
    public var idleTimeout: Duration?
    /// From start to end; see ``Timeouts/total``.
    ///
    /// Given here it is a deadline over the whole call: ``Redirects`` and ``Retry`` give each further request what is left
    /// of it, and their waits count. The session's own ``Timeouts/total`` holds for each request anew.
    public var totalTimeout: Duration?
    /// Which versions of HTTP may be used.
    public var protocolChoice: ProtocolChoice?
    /// Whom to trust at the other end, and how to speak TLS. A policy that differs from the session's takes connections of
    /// its own; keep and reuse the value, as a policy that nobody else has is read anew for each request.
    public var security: SecurityPolicy? {
        get { rare?.values.security }
        set { change { $0.security = newValue } }
    }
    /// Where to connect to, and from where.
    public var route: Route? {
        get { rare?.values.route }
        set { change { $0.route = newValue } }
    }
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy? {
        get { rare?.values.addressPolicy }
        set { change { $0.addressPolicy = newValue } }
    }
    /// Which proxy to go through; ``ProxyConfiguration/none`` goes through none.
    public var proxy: ProxyConfiguration? {
        get { rare?.values.proxy }
        set { change { $0.proxy = newValue } }
    }
    /// The size of the buffer that the socket is read into.
    public var readBufferSize: ByteCount?
    /// How much of a body may wait for its reader before the transfer pauses.
    public var bodyBufferSize: ByteCount?
    /// How fast the bodies of this request and of its response may flow; see ``TaskActor/setRateLimit(_:)``. Each task of the
    /// call, as after a redirect, has the limit for itself.
    public var rateLimit: RateLimit? {
        get { rare?.values.rateLimit }
        set { change { $0.rateLimit = newValue } }
    }
    /// Sends `Expect: 100-continue` and waits so long at most for leave to send the body (RFC 9110 §10.1.1).
    /// nil, the default, sends the body at once.
    public var expectContinue: Duration?
    /// Whether a ``Cookies`` link sends and stores cookies. nil, the default, means yes.
    public var usesCookies: Bool?
    /// Whether a ``ContentDecoding`` link announces content codings and undoes them. nil, the default, means yes.
    public var decodesContent: Bool?
    /// A word of the caller's for the task, to be found again in ``TaskActor/tag`` and in events.
    public var tag: String? {
        get { rare?.values.tag }
        set { change { $0.tag = newValue } }
    }
    /// What ``Redirects`` does with this request; nil is its ``Redirects/policy``.
    public var redirects: RedirectPolicy?
    /// How often ``Retry`` may send this request, the first time included: 1 is never again. nil is its
    /// ``Retry/attempts``.
    public var maximumAttempts: Int?
    /// Whether sending the request twice means the same as sending it once. nil, the default, asks its method
    /// (RFC 9110 §9.2.2). It decides what ``Retry``, ``Hedging`` and the transport itself send again.
    public var isIdempotent: Bool?
    /// How long to wait for the network to come back if there is none; see ``WaitsForConnectivity``. nil is the session's
    /// ``SessionConfiguration/waitsForConnectivity``; zero waits for nothing.
    public var waitsForConnectivity: Duration?
    /// Fields with secrets of the caller's, beside those known to be secret, such as Authorization and Cookie: they are
    /// masked in logs, and taken off when a redirect leads to another origin.
    public var secretFields: Set<HTTPField.Name> {
        get { rare?.values.secretFields ?? [] }
        set { change { $0.secretFields = newValue } }
    }
    /// Where the links write what they do with the request; set by ``RequestLogging``.
    var log: RequestLog?
    /// Called on the caller's side with the task of each attempt, before it starts: the place to follow its progress.
    public var onTask: (@Sendable (TaskActor) -> Void)? {
        get { rare?.values.onTask }
        set { change { $0.onTask = newValue } }
    }
    /// Called on the caller's side when the head of the response has come: it may let the response through, cancel the task,
    /// or have the body written into a file; see ``ResponseDisposition``.
    ///
    /// An ``HTTPSession`` asks once a call, when its chain is through: redirects have been followed, failures tried again and
    /// codings undone by then. ``SessionActor/send(_:)`` and ``TaskActor/response()`` of a task of one's own ask for each
    /// response. The task is that which carried the response; nil where none did, as with a stub. What the closure throws ends
    /// the task and is the caller's error.
    public var onResponse: (@Sendable (HTTPResponse, TaskActor?) async throws -> ResponseDisposition)? {
        get { rare?.values.onResponse }
        set { change { $0.onResponse = newValue } }
    }

    /// What ``Authentication`` leaves to libcurl, and the only origin that it is for, should a link send the request on.
    var engineCredential: (use: AuthenticationUse, origin: String)? {
        get { rare?.values.engineCredential }
        set { change { $0.engineCredential = newValue } }
    }
    /// Whether to end once the connection is there.
    var isHandshakeOnly = false
    /// What the task of each attempt is for.
    var kind: TaskKind {
        get { rare?.values.kind ?? .data }
        set { change { $0.kind = newValue } }
    }
    /// What stops and restarts the tasks of all attempts together.
    var hold: TransferHold? {
        get { rare?.values.hold }
        set { change { $0.hold = newValue } }
    }
    /// What few requests have, in one object: options are copied with the request at every link.
    private(set) var rare: RareOptions?

    public init() {}

    private mutating func change(_ change: (inout RareOptions.Values) -> Void) {
        var values = rare?.values ?? RareOptions.Values()
        change(&values)
        rare = RareOptions(values)
    }
}

/// The options of a request that are large or seldom set.
final class RareOptions: Sendable {
    struct Values: Sendable {
        var security: SecurityPolicy?
        var route: Route?
        var addressPolicy: AddressPolicy?
        var proxy: ProxyConfiguration?
        var tag: String?
        var secretFields: Set<HTTPField.Name> = []
        var onTask: (@Sendable (TaskActor) -> Void)?
        var onResponse: (@Sendable (HTTPResponse, TaskActor?) async throws -> ResponseDisposition)?
        var engineCredential: (use: AuthenticationUse, origin: String)?
        var kind = TaskKind.data
        var hold: TransferHold?
        var rateLimit: RateLimit?

        /// Whether one of them is about where and how to connect.
        var concernConnecting: Bool { security != nil || route != nil || addressPolicy != nil || proxy != nil }
    }

    let values: Values

    init(_ values: Values) { self.values = values }
}
