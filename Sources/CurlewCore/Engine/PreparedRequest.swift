internal import CLibcurl
internal import HTTPTypes

/// A request that was checked and converted for libcurl. The caller's thread does this, so that the loop has little
/// work.
final class PreparedRequest: Sendable {
    /// The default wait for 100 (Continue), if only a field or a proxy asks for it.
    private static let usualExpectation = Duration.seconds(1)

    let method: HTTPRequest.Method
    /// True if the request may be sent twice.
    let isIdempotent: Bool
    let uri: CurlewURI
    /// The URI without fragment and user information, or another one if libcurl could not send it: `CURLOPT_URL`.
    let url: String
    /// The target, if libcurl would not send it as written: `CURLOPT_REQUEST_TARGET`.
    let target: String?
    let fields: FieldList?
    let fieldsWithoutExpectation: FieldList?
    /// The fields for a proxy only.
    let proxyFields: FieldList?
    let trailers: FieldList?
    /// The credential for libcurl's own authentication.
    let engineCredential: EngineCredential?
    let body: CurlewRequest.Body
    /// The number of bytes that will be sent; nil is unknown and is sent chunked.
    let contentLength: Int64?
    let expectContinue: Duration?
    let version: HTTPVersionPolicy.Kind
    let options: ConnectionOptions
    let timeouts: Timeouts
    let timeLimits: TransferClock.Limits
    let limits: CurlewResponse.Limits
    let bodyBufferSize: Int
    /// True if the connection is closed after the exchange.
    let closesConnection: Bool
    /// True if the exchange ends after the handshake, without a byte of the request.
    let isHandshakeOnly: Bool
    /// The head of a request that asks for an upgrade; nil for other requests.
    let upgrade: UpgradeRequest?
    /// The priority in the queue for a connection.
    let priority: RequestOptions.Priority

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a request that cannot be sent.
    init(_ request: borrowing CurlewRequest, defaults: RequestDefaults) throws {
        let options = request.options
        method = request.method
        isIdempotent = request.isIdempotent
        uri = request.uri
        body = try request.body.watchingFile()
        try options.checkDurations()
        timeouts = options.timeouts(defaults.timeouts)
        timeLimits = options.isAnySet ? TransferClock.Limits(timeouts) : defaults.timeLimits
        limits = defaults.limits
        bodyBufferSize = max(1, (options.bodyBufferSize ?? defaults.bodyBufferSize).bytes)
        self.options = try defaults.connection.overridden(by: options, timeouts: timeouts, uri: request.uri)
        try self.options.checkTarget(request.uri)
        isHandshakeOnly = options.isHandshakeOnly
        priority = options.priority
        if self.options.trust.isPinning, !uri.layout.isSecure, self.options.trust.pins(uri.host) {
            throw CurlewError(.invalidRequest, "the security policy pins the server, and http shows no certificate")
        }
        let choice = options.versionPolicy ?? defaults.versionPolicy

        var check = RequestCheck()
        let known = self.options.values.proxy == nil ? defaults.fieldLists : nil
        let goesToProxy = !uri.layout.isSecure && self.options.values.proxy?.isSOCKS == false
        let awaitsChallenge = goesToProxy && self.options.values.proxy?.awaitsChallenge == true
        try check.take(request, length: body.length, awaitsChallenge: awaitsChallenge, known: known)
        if goesToProxy { try check.addHost(of: uri) }
        let isRefused = goesToProxy && Engine.refusesProxiedIPv6 && uri.hasIPv6Host
        if isRefused || (Engine.capitalizesEscapes && uri.isChangedByCapitals) {
            // A proxy gets the complete URI (RFC 9112 §3.2.2).
            target = goesToProxy ? uri.requestText : request.target
        } else {
            target = nil
        }
        url = isRefused ? "http://ipv6.invalid\(request.target)" : uri.requestText
        contentLength = check.contentLength
        closesConnection = check.closesConnection
        expectContinue = check.expectsContinue ? (options.expectContinue ?? Self.usualExpectation) : nil
        fields = check.fields
        fieldsWithoutExpectation = check.fieldsWithoutExpectation
        proxyFields = check.proxyFields ?? self.options.proxyFields
        trailers = check.trailers
        if let name = options.isAnySet ? options.upgradeProtocol : nil {
            upgrade = try UpgradeRequest(
                to: name, request, fields: check.fields,
                userAgent: options.isForwarded ? nil : self.options.values.userAgent)
            engineCredential = nil
        } else {
            upgrade = nil
            engineCredential = options.engineCredential.flatMap {
                $0.origin == request.uri.origin && request.method != .trace ? $0 : nil
            }
        }
        let needsHTTP11 = trailers != nil || upgrade != nil
        let obstacle = choice.prefersHTTP3 ? self.options.obstacleToHTTP3(for: request, uri) : nil
        switch choice.kind {
        case .http3Only where obstacle != nil: throw CurlewError(.unsupported, obstacle ?? "")
        case .http3 where obstacle != nil && !needsHTTP11: version = .negotiated
        default: version = needsHTTP11 ? .http11 : choice.kind
        }
        if version == .http2PriorKnowledge, goesToProxy {
            throw CurlewError(.unsupported, "HTTP/2 with prior knowledge does not go through an HTTP proxy")
        }
    }

    /// True if the request shares its connection with no other request.
    var needsOwnConnection: Bool { isHandshakeOnly || upgrade != nil }

    /// True if TLS protects the connection to the server or to its proxy.
    var usesTLS: Bool { uri.layout.isSecure || options.values.proxy?.scheme == .https }

    /// True if the request has a body, even an empty one.
    var hasBody: Bool { !body.isNone }
}

/// The defaults of a session's requests. They are an object, because passing a configuration on would copy it.
final class RequestDefaults: Sendable {
    let timeouts: Timeouts
    let timeLimits: TransferClock.Limits
    let limits: CurlewResponse.Limits
    let bodyBufferSize: ByteSize
    let versionPolicy: HTTPVersionPolicy
    let connection: ConnectionOptions
    let fieldLists = FieldListCache()

    init(
        timeouts: Timeouts, limits: CurlewResponse.Limits, bodyBufferSize: ByteSize, versionPolicy: HTTPVersionPolicy,
        connection: ConnectionOptions
    ) {
        self.timeouts = timeouts
        timeLimits = TransferClock.Limits(timeouts)
        self.limits = limits
        self.bodyBufferSize = bodyBufferSize
        self.versionPolicy = versionPolicy
        self.connection = connection
    }
}

extension RequestOptions {
    private enum HandshakeKey: SourceKey { static let defaultValue = false }

    /// True if the exchange ends after the handshake.
    var isHandshakeOnly: Bool {
        get { self[HandshakeKey.self] }
        set { self[HandshakeKey.self] = newValue }
    }

    private enum ForwardedKey: SourceKey {
        static let defaultValue = false

        // The absent fields may affect the server's choice of the response.
        static func sourceText(_ value: Bool) -> String? { value ? "forwarded" : nil }
    }

    /// True if the request comes from another client: absent fields, such as User-Agent, are not added.
    package var isForwarded: Bool {
        get { self[ForwardedKey.self] }
        set { self[ForwardedKey.self] = newValue }
    }
}
