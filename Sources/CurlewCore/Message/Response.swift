public import HTTPTypes

/// A response: its head and its unread body.
///
/// Releasing an unread body ends its transfer and frees the connection.
public struct CurlewResponse: Sendable {
    /// Status, reason and header fields.
    public var head: HTTPResponse {
        get { storage.values.head }
        _modify {
            makeUnique()
            yield &storage.values.head
        }
    }
    /// The body. It can be read once.
    public var body: CurlewResponse.Body {
        get { storage.values.body }
        _modify {
            makeUnique()
            yield &storage.values.body
        }
    }
    /// The protocol that carried the response.
    public var version: HTTPProtocolVersion {
        get { storage.values.version }
        _modify {
            makeUnique()
            yield &storage.values.version
        }
    }
    /// The URI that returned the response.
    public var uri: CurlewURI {
        get { storage.values.uri }
        _modify {
            makeUnique()
            yield &storage.values.uri
        }
    }
    /// The interim responses (1xx) before this response, oldest first, at most
    /// ``CurlewResponse/Limits/interimResponses``.
    public var interim: [HTTPResponse] {
        get { storage.values.interim }
        _modify {
            makeUnique()
            yield &storage.values.interim
        }
    }
    /// The redirects that led to this response, in their order; see ``Redirects``.
    public var history: [CurlewResponse.Redirect] {
        get { storage.values.history }
        _modify {
            makeUnique()
            yield &storage.values.history
        }
    }
    /// The number of times that the request was sent for this response, the first time and hedges included: more than 1
    /// if ``Retry`` or ``Hedging`` sent it again. Redirects are counted in ``history``; the transport's own repetitions
    /// on a fresh connection are in ``TaskActor/metrics``.
    public var attempts: Int {
        get { storage.values.attempts }
        _modify {
            makeUnique()
            yield &storage.values.attempts
        }
    }
    /// The exchange of the response; nil without one, as for a stub.
    package var exchange: (any ResponseExchange)? { storage.values.exchange }
    /// The session's settings for its responses: a limit, the JSON dialect. The types in `Message` do not interpret
    /// them.
    var defaults: (any Sendable & AnyObject)? {
        get { storage.values.defaults }
        _modify {
            makeUnique()
            yield &storage.values.defaults
        }
    }
    /// A single reference, because every link passes the response on, and every waiting call keeps it in its frame.
    private var storage: Storage

    /// Makes a response without an exchange: for a link that answers by itself, and for tests.
    public init(
        _ status: HTTPResponse.Status,
        fields: HTTPFields = HTTPFields(),
        body: CurlewResponse.Body = .bytes([]),
        version: HTTPProtocolVersion = .http11,
        uri: CurlewURI
    ) {
        self.init(
            head: HTTPResponse(status: status, headerFields: fields),
            body: body, version: version, uri: uri, interim: [], exchange: nil
        )
    }

    package init(
        head: HTTPResponse, body: CurlewResponse.Body, version: HTTPProtocolVersion, uri: CurlewURI,
        interim: [HTTPResponse],
        exchange: (any ResponseExchange)?
    ) {
        storage = Storage(
            Values(head: head, body: body, version: version, uri: uri, interim: interim, exchange: exchange))
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }

    /// The header fields, in the order of their arrival.
    public var fields: HTTPFields {
        get { head.headerFields }
        set { head.headerFields = newValue }
    }

    /// Content-Type, read by ``ContentType/init(contentTypeOf:)``.
    public var mediaType: ContentType? { ContentType(contentTypeOf: fields) }

    /// Content-Length as a number; nil if the response has a Transfer-Encoding, which then determines the length of the
    /// body (RFC 9112 §6.3).
    public var contentLength: Int64? {
        guard !head.headerFields.contains(.transferEncoding) else { return nil }
        return head.headerFields[.contentLength].flatMap { ContentLength.read($0.utf8) }
    }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
    }

    private struct Values: Sendable {
        var head: HTTPResponse
        var body: CurlewResponse.Body
        var version: HTTPProtocolVersion
        var uri: CurlewURI
        var interim: [HTTPResponse]
        var history: [CurlewResponse.Redirect] = []
        var attempts = 1
        let exchange: (any ResponseExchange)?
        var defaults: (any Sendable & AnyObject)?
        var keyed = KeyedValues()
    }

    /// `@unchecked Sendable`: the storage is written only while a single value refers to it (copy on write).
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }
}

extension CurlewResponse {
    /// The key of a value that a link, usually one of your own, attaches to a response.
    public protocol Key {
        associatedtype Value: Sendable
        /// The value if none was set.
        static var defaultValue: Value { get }
    }

    /// The value under a key.
    public subscript<K: Key>(key: K.Type) -> K.Value {
        get { storage.values.keyed[ObjectIdentifier(key), as: K.Value.self] ?? K.defaultValue }
        set {
            makeUnique()
            storage.values.keyed[ObjectIdentifier(key), as: K.Value.self] = newValue
        }
    }
}

/// The codings and fields of a response before its body was decoded.
struct EncodedContent: Sendable {
    let codings: [String]
    /// Content-Encoding and Content-Length.
    var fields: HTTPFields

    /// Removes the fields that do not apply to the decoded body.
    init(codings: [String], takenFrom fields: inout HTTPFields) {
        self.codings = codings
        self.fields = fields.filter { $0.name == .contentEncoding || $0.name == .contentLength }
        fields[.contentEncoding] = nil
        fields[.contentLength] = nil
    }
}

extension CurlewResponse {
    private enum EncodedContentKey: Key { static let defaultValue: EncodedContent? = nil }

    /// The codings and fields before decoding, if the body was decoded.
    var encoded: EncodedContent? {
        get { self[EncodedContentKey.self] }
        set { self[EncodedContentKey.self] = newValue }
    }

    /// The content codings that ``ContentDecoding`` has undone, in lower case, in the order in which they had been
    /// applied. Empty if the body was not decoded.
    public var contentCodings: [String] { encoded?.codings ?? [] }

    /// The fields that ``ContentDecoding`` has removed because they describe the coded body: Content-Encoding and
    /// Content-Length. Empty if the body was not decoded.
    public var encodedFields: HTTPFields { encoded?.fields ?? HTTPFields() }
}

extension CurlewResponse {
    /// A redirect that led to a response.
    public struct Redirect: Sendable, Hashable {
        /// The status, one of 301, 302, 303, 307 and 308.
        public var status: HTTPResponse.Status
        /// The URI that returned the redirect.
        public var uri: CurlewURI
        /// The fields of the redirect, Location included.
        public var fields: HTTPFields
        /// The number of times that the request was sent before this redirect was returned, the first time included.
        public var attempts: Int

        public init(status: HTTPResponse.Status, uri: CurlewURI, fields: HTTPFields, attempts: Int = 1) {
            self.status = status
            self.uri = uri
            self.fields = fields
            self.attempts = attempts
        }
    }
}
