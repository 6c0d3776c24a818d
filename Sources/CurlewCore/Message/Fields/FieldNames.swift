public import HTTPTypes

/// Names of fields that HTTP clients use and that swift-http-types lacks.
///
/// A program may declare the same name in its own extension; within its module, that declaration is used.
extension HTTPField.Name {
    /// Accept-Patch: the media types that a resource accepts in PATCH requests (RFC 5789 §3.1).
    public static let acceptPatch = Self("Accept-Patch")!
    /// Accept-Query: the media types that a resource accepts in QUERY requests (RFC 10008 §3).
    public static let acceptQuery = Self("Accept-Query")!
    /// Cache-Status: the decisions of the caches that handled the response (RFC 9211).
    public static let cacheStatus = Self("Cache-Status")!
    /// Content-Digest: digests of the content of a message (RFC 9530 §2).
    public static let contentDigest = Self("Content-Digest")!
    /// Deprecation: the date from which a resource is deprecated (RFC 9745).
    public static let deprecation = Self("Deprecation")!
    /// Forwarded: the client and the addresses that a proxy has seen (RFC 7239).
    public static let forwarded = Self("Forwarded")!
    /// Host: the authority of an HTTP/1.1 request (RFC 9110 §7.2). Curlew sets it from the URL.
    public static let host = Self("Host")!
    /// Idempotency-Key: the key by which a server recognizes a repeated request (``RequestOptions/idempotencyKey``).
    public static let idempotencyKey = Self("Idempotency-Key")!
    /// Link: links to other resources (RFC 8288 §3).
    public static let link = Self("Link")!
    /// Pragma: the directive `no-cache` of HTTP/1.0 (RFC 9111 §5.4).
    public static let pragma = Self("Pragma")!
    /// Prefer: the behaviours that a client would like (RFC 7240 §2).
    public static let prefer = Self("Prefer")!
    /// Preference-Applied: the preferences that a server has honoured (RFC 7240 §3).
    public static let preferenceApplied = Self("Preference-Applied")!
    /// Repr-Digest: digests of the selected representation (RFC 9530 §3).
    public static let reprDigest = Self("Repr-Digest")!
    /// Sunset: the time at which a resource is expected to disappear (RFC 8594).
    public static let sunset = Self("Sunset")!
    /// traceparent: the identifiers of a trace and of its caller's span (W3C Trace Context).
    public static let traceParent = Self("traceparent")!
    /// X-API-Key: the key of an account, in the customary field.
    public static let xAPIKey = Self("X-API-Key")!
    /// X-Request-ID: the identifier of a request, in the customary field.
    public static let xRequestID = Self("X-Request-ID")!
}
