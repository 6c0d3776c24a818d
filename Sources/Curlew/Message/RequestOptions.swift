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
    public var security: SecurityPolicy?
    /// Where to connect to, and from where.
    public var route: Route?
    /// Which addresses may be connected to.
    public var addressPolicy: AddressPolicy?
    /// Which proxy to go through; ``ProxyConfiguration/none`` goes through none.
    public var proxy: ProxyConfiguration?
    /// The size of the buffer that the socket is read into.
    public var readBufferSize: ByteCount?
    /// How much of a body may wait for its reader before the transfer pauses.
    public var bodyBufferSize: ByteCount?
    /// Sends `Expect: 100-continue` and waits so long at most for leave to send the body (RFC 9110 §10.1.1).
    /// nil, the default, sends the body at once.
    public var expectContinue: Duration?
    /// Whether a ``Cookies`` link sends and stores cookies. nil, the default, means yes.
    public var usesCookies: Bool?
    /// Whether a ``ContentDecoding`` link announces content codings and undoes them. nil, the default, means yes.
    public var decodesContent: Bool?
    /// A word of the caller's for the task, to be found again in ``TaskActor/tag`` and in events.
    public var tag: String?
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
    public var secretFields: Set<HTTPField.Name> = []
    /// Where the links write what they do with the request; set by ``RequestLogging``.
    var log: RequestLog?
    /// Called on the caller's side with the task of each attempt, before it starts: the place to follow its progress.
    public var onTask: (@Sendable (TaskActor) -> Void)?

    /// What ``Authentication`` leaves to libcurl, and the only origin that it is for, should a link send the request on.
    var engineCredential: (use: AuthenticationUse, origin: String)?
    /// Whether to end once the connection is there.
    var isHandshakeOnly = false

    public init() {}
}
