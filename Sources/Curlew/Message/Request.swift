public import HTTPTypes

/// A request: method, URI, fields, body and how it is to be carried.
public struct CurlewRequest: Sendable {
    /// The method; `GET` unless said otherwise.
    public var method: HTTPRequest.Method
    /// Where the request goes.
    public var uri: CurlewURI
    /// The header fields, sent in this order. `Content-Length` and `Transfer-Encoding` are made from ``body``;
    /// `Host` from ``uri`` unless given here. `HTTPField(checking:value:)` makes one from text that may not be fit.
    public var fields: HTTPFields
    /// The body.
    public var body: CurlewRequest.Body
    /// Fields sent after the body. They make the body go out chunked, and the request over HTTP/1.1.
    public var trailers: HTTPFields
    /// Options of this request alone; what is nil is the session's.
    public var options: RequestOptions

    public init(
        _ method: HTTPRequest.Method = .get,
        _ uri: CurlewURI,
        fields: HTTPFields = HTTPFields(),
        body: CurlewRequest.Body = .none,
        trailers: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) {
        self.method = method
        self.uri = uri
        self.fields = fields
        self.body = body
        self.trailers = trailers
        self.options = options
    }

    /// Reads `url` and makes a request to it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(
        _ method: HTTPRequest.Method = .get,
        _ url: String,
        fields: HTTPFields = HTTPFields(),
        body: CurlewRequest.Body = .none,
        trailers: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) throws {
        self.init(method, try CurlewURI(url), fields: fields, body: body, trailers: trailers, options: options)
    }

    /// The request's head as the currency type of swift-http-types.
    public var head: HTTPRequest {
        HTTPRequest(
            method: method,
            scheme: uri.scheme,
            authority: uri.authority,
            path: uri.query.map { "\(uri.path)?\($0)" } ?? uri.path,
            headerFields: fields
        )
    }
}

extension CurlewRequest {
    /// True if it may be sent twice: as ``RequestOptions/isIdempotent`` says, else as its method does.
    var isIdempotent: Bool { options.isIdempotent ?? method.isIdempotent }
}

extension HTTPRequest.Method {
    /// True if sending the request twice means the same as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        default: false
        }
    }
}
