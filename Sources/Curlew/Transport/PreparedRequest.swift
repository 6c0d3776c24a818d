internal import CLibcurl
internal import HTTPTypes

/// A request checked and put into the form that libcurl takes, on the caller's side, so that the loop has little to do.
final class PreparedRequest: Sendable {
    let method: HTTPRequest.Method
    /// Whether the engine may send it twice.
    let isIdempotent: Bool
    let uri: URI
    /// The URI without fragment and user information: `CURLOPT_URL`.
    let url: String
    let fields: FieldList?
    let fieldsWithoutExpectation: FieldList?
    /// What goes to a proxy alone.
    let proxyFields: FieldList?
    let trailers: FieldList?
    /// What libcurl is to authenticate with by itself.
    let engineCredential: AuthenticationUse?
    let body: RequestBody
    /// The bytes that will be sent, if that is known; nil goes out chunked.
    let contentLength: Int64?
    let expectContinue: Duration?
    let version: ProtocolChoice.Kind
    let options: ConnectionOptions
    let timeouts: Timeouts
    /// The limits in nanoseconds; the largest number is none.
    let idleLimit: Int64
    let totalLimit: Int64
    let limits: ResponseLimits
    let bodyBufferSize: Int
    /// Whether to end once the connection is there, without a byte of the request.
    let isHandshakeOnly: Bool

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for what cannot be sent as it stands.
    init(_ request: Request, configuration: SessionConfiguration, defaults: ConnectionOptions) throws {
        let options = request.options
        method = request.method
        isIdempotent = request.isIdempotent
        uri = request.uri
        url = request.uri.requestText
        body = try request.body.watchingFile()
        timeouts = Timeouts(
            connect: options.connectTimeout ?? configuration.timeouts.connect,
            idle: options.idleTimeout ?? configuration.timeouts.idle,
            total: options.totalTimeout ?? configuration.timeouts.total
        )
        idleLimit = timeouts.idle.limitInNanoseconds
        totalLimit = timeouts.total.limitInNanoseconds
        limits = configuration.limits
        bodyBufferSize = max(1, (options.bodyBufferSize ?? configuration.bodyBufferSize).bytes)
        self.options = try defaults.overridden(by: options, timeouts: timeouts, uri: request.uri)
        try self.options.checkTarget(request.uri)
        isHandshakeOnly = options.isHandshakeOnly
        if !uri.layout.isSecure, self.options.trust.pins(uri.host) {
            throw CurlewError(.invalidRequest, "the security policy pins the server, and http shows no certificate")
        }
        let choice = options.protocolChoice ?? configuration.protocolChoice

        var check = RequestCheck()
        try check.take(request, length: body.length)
        contentLength = check.contentLength
        expectContinue = check.expectsContinue ? (options.expectContinue ?? .seconds(1)) : nil
        fields = check.fields
        fieldsWithoutExpectation = check.fieldsWithoutExpectation
        proxyFields = check.proxyFields
        engineCredential = options.engineCredential.flatMap { $0.origin == request.uri.origin ? $0.use : nil }
        trailers = check.trailers
        version = trailers == nil ? choice.kind : .http11
        if version == .http2PriorKnowledge, !uri.layout.isSecure, self.options.values.proxy?.isSOCKS == false {
            throw CurlewError(.unsupported, "HTTP/2 with prior knowledge does not go through an HTTP proxy")
        }
    }

    /// Whether the request has a body to send, be it empty.
    var hasBody: Bool { !body.isNone }
}
