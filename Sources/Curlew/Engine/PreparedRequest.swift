internal import CLibcurl
internal import HTTPTypes

/// A request checked and put into the form that libcurl takes, on the caller's side, so that the loop has little to do.
final class PreparedRequest: Sendable {
    /// For so long the body waits for leave, where only a field asks for it.
    private static let usualExpectation = Duration.seconds(1)

    let method: HTTPRequest.Method
    /// True if the engine may send it twice.
    let isIdempotent: Bool
    let uri: CurlewURI
    /// The URI without fragment and user information: `CURLOPT_URL`.
    let url: String
    let fields: FieldList?
    let fieldsWithoutExpectation: FieldList?
    /// The fields that go to a proxy alone.
    let proxyFields: FieldList?
    let trailers: FieldList?
    /// The credential with which libcurl authenticates by itself.
    let engineCredential: EngineCredential?
    let body: CurlewRequest.Body
    /// The bytes that will be sent, if that is known; nil goes out chunked.
    let contentLength: Int64?
    let expectContinue: Duration?
    let version: HTTPVersionPolicy.Kind
    let options: ConnectionOptions
    let timeouts: Timeouts
    let timeLimits: TransferClock.Limits
    let limits: CurlewResponse.Limits
    let bodyBufferSize: Int
    /// True if the connection is to be closed after the exchange.
    let closesConnection: Bool
    /// True if the exchange ends once the connection is made, without a byte of the request.
    let isHandshakeOnly: Bool
    /// The head of a request that asks for an upgrade; nil for others.
    let upgrade: UpgradeRequest?
    /// The priority where it waits for a connection.
    let priority: RequestOptions.Priority

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for what cannot be sent as it stands.
    init(_ request: borrowing CurlewRequest, defaults: RequestDefaults) throws {
        let options = request.options
        method = request.method
        isIdempotent = request.isIdempotent
        uri = request.uri
        url = request.uri.requestText
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
        try check.take(request, length: body.length, known: known)
        if !uri.layout.isSecure, self.options.values.proxy?.isSOCKS == false { try check.addHost(of: uri) }
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
            engineCredential = options.engineCredential.flatMap { $0.origin == request.uri.origin ? $0 : nil }
        }
        version = trailers == nil && upgrade == nil ? choice.kind : .http11
        if version == .http2PriorKnowledge, !uri.layout.isSecure, self.options.values.proxy?.isSOCKS == false {
            throw CurlewError(.unsupported, "HTTP/2 with prior knowledge does not go through an HTTP proxy")
        }
    }

    /// True if the request shares its connection with no other.
    var needsOwnConnection: Bool { isHandshakeOnly || upgrade != nil }

    /// True if the request has a body to send, be it empty.
    var hasBody: Bool { !body.isNone }
}

/// What holds for each request that does not say otherwise: in an object, as handing a configuration on copies it.
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

    /// True if the exchange ends once the connection is made.
    var isHandshakeOnly: Bool {
        get { self[HandshakeKey.self] }
        set { self[HandshakeKey.self] = newValue }
    }

    private enum ForwardedKey: SourceKey {
        static let defaultValue = false

        // A server may choose by the fields that are not added.
        static func sourceText(_ value: Bool) -> String? { value ? "forwarded" : nil }
    }

    /// True if the request is another client's: fields that it does not have, such as User-Agent, are not added.
    package var isForwarded: Bool {
        get { self[ForwardedKey.self] }
        set { self[ForwardedKey.self] = newValue }
    }
}
