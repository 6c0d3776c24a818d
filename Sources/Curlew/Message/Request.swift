public import HTTPTypes

/// A request: method, URI, fields, body and how it is to be carried.
public struct CurlewRequest: Sendable {
    /// The method; `GET` unless said otherwise.
    public var method: HTTPRequest.Method {
        get { storage.values.method }
        _modify {
            makeUnique()
            yield &storage.values.method
        }
    }
    /// Where the request goes.
    public var uri: CurlewURI {
        get { storage.values.uri }
        _modify {
            makeUnique()
            yield &storage.values.uri
        }
    }
    /// The header fields, sent in this order. `Content-Length` and `Transfer-Encoding` are made from ``body``;
    /// `Host` from ``uri`` unless given here. `HTTPField(checking:value:)` makes one from text that may not be fit.
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
    /// Fields sent after the body. They make the body go out chunked, and the request over HTTP/1.1.
    public var trailers: HTTPFields {
        get { storage.values.trailers }
        _modify {
            makeUnique()
            yield &storage.values.trailers
        }
    }
    /// Options of this request alone; what is nil is the session's.
    public var options: RequestOptions {
        get { storage.values.options }
        _modify {
            makeUnique()
            yield &storage.values.options
        }
    }
    /// The receiver of reports about the call that the request belongs to; nil if nothing listens to it. It is no option, so that a
    /// request with listeners is equal to one without.
    var reporter: (any CallReporter)? {
        get { storage.values.reporter }
        _modify {
            makeUnique()
            yield &storage.values.reporter
        }
    }
    /// The objects that are notified of the end of this request's exchange.
    var watchers: [any ExchangeWatcher] {
        get { storage.values.watchers }
        _modify {
            makeUnique()
            yield &storage.values.watchers
        }
    }
    /// The settings of the session for connections where the request has none, for links that choose where to connect, and for what
    /// requests share.
    var connectionDefaults: (any SourceDefaults)? {
        get { storage.values.connectionDefaults }
        _modify {
            makeUnique()
            yield &storage.values.connectionDefaults
        }
    }
    /// One reference: requests are copied at every link, and kept in the frame of every call that waits.
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

    /// `@unchecked Sendable`: it is written only while one value alone holds it, as the memory of an array is.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }
}

extension CurlewRequest {
    /// True if it may be sent twice: as ``RequestOptions/isIdempotent`` says, else by its method or its key.
    var isIdempotent: Bool {
        options.isIdempotent ?? (method.isIdempotent || options.isAnySet && options.idempotencyKey != nil)
    }
}

extension HTTPRequest.Method {
    /// True if sending the request twice means the same as sending it once (RFC 9110 §9.2.2, RFC 10008 §2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .query, .put, .delete, .options, .trace: true
        default: false
        }
    }
}
