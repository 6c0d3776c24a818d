public import HTTPTypes

/// A request: method, URI, fields, body and options.
public struct CurlewRequest: Sendable {
    /// The method; `GET` by default.
    public var method: HTTPRequest.Method {
        get { storage.values.method }
        _modify {
            makeUnique()
            yield &storage.values.method
        }
    }
    /// The URI of the requested resource.
    public var uri: CurlewURI {
        get { storage.values.uri }
        _modify {
            makeUnique()
            yield &storage.values.uri
        }
    }
    /// The header fields, sent in this order. `Content-Length` and `Transfer-Encoding` are made from ``body``, `Host`
    /// from ``uri`` unless given here. `HTTPField(checking:value:)` makes a field from unchecked text.
    public var fields: HTTPFields {
        get { storage.values.fields }
        _modify {
            makeUnique()
            yield &storage.values.fields
        }
    }
    /// The body.
    public var body: CurlewRequest.Body {
        get { storage.values.body }
        _modify {
            makeUnique()
            yield &storage.values.body
        }
    }
    /// The fields that follow the body. With trailers the body is sent chunked, and the request over HTTP/1.1.
    public var trailers: HTTPFields {
        get { storage.values.trailers }
        _modify {
            makeUnique()
            yield &storage.values.trailers
        }
    }
    /// Options of this request; nil stands for the session's value.
    public var options: RequestOptions {
        get { storage.values.options }
        _modify {
            makeUnique()
            yield &storage.values.options
        }
    }
    /// The receiver of reports about the request's call; nil without a listener. It is not an option, so a request with
    /// listeners equals one without.
    var reporter: (any CallReporter)? {
        get { storage.values.reporter }
        _modify {
            makeUnique()
            yield &storage.values.reporter
        }
    }
    /// The objects that are notified of the end of this request's exchange.
    package var watchers: [any ExchangeWatcher] {
        get { storage.values.watchers }
        _modify {
            makeUnique()
            yield &storage.values.watchers
        }
    }
    /// The settings of the session for connections, used where the request has none. They serve links that choose where
    /// to connect, or that share responses.
    package var connectionDefaults: (any SourceDefaults)? {
        get { storage.values.connectionDefaults }
        _modify {
            makeUnique()
            yield &storage.values.connectionDefaults
        }
    }
    /// A single reference, because requests are copied at every link and kept in the frame of every waiting call.
    private var storage: Storage

    public init(
        _ method: HTTPRequest.Method = .get,
        _ uri: CurlewURI,
        fields: HTTPFields = HTTPFields(),
        body: CurlewRequest.Body = .none,
        trailers: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) {
        storage = Storage(
            Values(method: method, uri: uri, fields: fields, body: body, trailers: trailers, options: options))
    }

    /// Parses `url` and makes a request for it.
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

    /// The request's head as the type of swift-http-types.
    public var head: HTTPRequest {
        HTTPRequest(
            method: method,
            scheme: uri.scheme,
            authority: uri.authority,
            path: uri.query.map { "\(uri.path)?\($0)" } ?? uri.path,
            headerFields: fields
        )
    }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
    }

    private struct Values: Sendable {
        var method: HTTPRequest.Method
        var uri: CurlewURI
        var fields: HTTPFields
        var body: CurlewRequest.Body
        var trailers: HTTPFields
        var options: RequestOptions
        var reporter: (any CallReporter)?
        var watchers: [any ExchangeWatcher] = []
        var connectionDefaults: (any SourceDefaults)?
    }

    /// `@unchecked Sendable`: the storage is written only while a single value refers to it (copy on write).
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }
}

extension CurlewRequest {
    /// True if the request may be sent twice. ``RequestOptions/isIdempotent`` decides, else the method or the
    /// idempotency key.
    var isIdempotent: Bool {
        options.isIdempotent ?? (method.isIdempotent || options.isAnySet && options.idempotencyKey != nil)
    }
}

extension HTTPRequest.Method {
    /// True if two requests have the same effect as one (RFC 9110 §9.2.2, RFC 10008 §2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .query, .put, .delete, .options, .trace: true
        default: false
        }
    }
}
