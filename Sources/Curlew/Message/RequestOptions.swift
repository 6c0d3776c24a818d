/// How one request is to be carried. What is nil is taken from the session's configuration.
public struct RequestOptions: Sendable {
    /// From the start of connecting to a usable connection; see ``Timeouts/connect``.
    public var connectTimeout: Duration?
    /// Without a byte either way; see ``Timeouts/idle``.
    public var idleTimeout: Duration?
    /// From start to end; see ``Timeouts/total``.
    public var totalTimeout: Duration?
    /// Which versions of HTTP may be used.
    public var protocolChoice: ProtocolChoice?
    /// Whom to trust at the other end, and how to speak TLS. A policy that differs from the session's takes connections of
    /// its own; keep and reuse the value, as a policy that nobody else has is read anew for each request.
    public var security: SecurityPolicy?
    /// Where to connect to, and from where.
    public var route: Route?
    /// The size of the buffer that the socket is read into.
    public var readBufferSize: ByteCount?
    /// How much of a body may wait for its reader before the transfer pauses.
    public var bodyBufferSize: ByteCount?
    /// Sends `Expect: 100-continue` and waits so long at most for leave to send the body (RFC 9110 §10.1.1).
    /// nil, the default, sends the body at once.
    public var expectContinue: Duration?
    /// A word of the caller's for the task, to be found again in ``TaskActor/tag`` and in events.
    public var tag: String?
    /// Called on the caller's side with the task of each attempt, before it starts: the place to follow its progress.
    public var onTask: (@Sendable (TaskActor) -> Void)?

    /// Whether to end once the connection is there.
    var isHandshakeOnly = false

    public init() {}
}
