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
    /// A word of the caller's for the task, to be found again in ``TaskActor/tag`` and in events.
    public var tag: String?
    /// Called on the caller's side with the task of each attempt, before it starts: the place to follow its progress.
    public var onTask: (@Sendable (TaskActor) -> Void)?

    /// What ``Authentication`` leaves to libcurl, and the only origin that it is for, should a link send the request on.
    var engineCredential: (use: AuthenticationUse, origin: String)?

    public init() {}
}
