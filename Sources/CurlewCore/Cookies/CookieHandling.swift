package import HTTPTypes

/// A link that sends the cookies of a jar, and stores those in responses.
///
/// - A request carries a single Cookie field: the caller's cookies, followed by the jar's cookies for the URI. Cookies
///   of the jar with a name that the caller has set are omitted. The jar adds no more than
///   ``CookieJar/Limits/fieldSize``.
/// - All Set-Cookie fields of a final response are stored for the URI that returned it, whatever the status. Those of
///   interim responses are ignored.
/// - With ``RequestOptions/usesCookies`` set to false, cookies are neither sent nor stored.
///
/// All callers of a session share its jar. A jar therefore suits a program that acts for a single user, and not a
/// server that sends the requests of many users over one session. To share a jar between sessions, pass it to the link
/// of each. A link behind ``Redirects`` processes every request and response of a chain of redirects.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://example.com/") { CookieHandling() }
/// ```
public struct CookieHandling: CurlewMiddleware {
    /// The jar that holds the cookies.
    public let jar: CookieJar

    /// - Parameter jar: The jar with the cookies: a new jar, unless it is to be shared or inspected.
    public init(_ jar: CookieJar = CookieJar()) { self.jar = jar }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.options.usesCookies != false else { return try await next(request) }
        let cookies = jar.cookiesToSend(to: request.uri)
        let response: CurlewResponse
        if cookies.isEmpty, !request.fields.contains(.cookie) {
            response = try await next(request)
        } else {
            var request = request
            request.options.cookieReceipt = receipt(for: request.uri, sent: cookies)
            var field = CookieField(request.fields, limit: jar.limits.fieldSize)
            field.append(cookies)
            let isGranted = request.hasGranted(.cookie)
            field.set(in: &request.fields)
            if isGranted {
                request.grantSecret(.cookie)
            } else {
                // Cookies that another link has set for the base may not go to this origin together with the jar's.
                var own = CookieField(HTTPFields(), limit: jar.limits.fieldSize)
                own.append(cookies)
                request.grantCookies(own.field)
            }
            response = try await next(request)
        }
        if response.fields.contains(.setCookie) { jar.store(response.fields, from: response.uri) }
        return response
    }

    /// Stores the cookies of a response that arrives after the call, unless the jar has other cookies by then: the
    /// response belongs to a session that may have ended.
    private func receipt(for uri: CurlewURI, sent: [CookieJar.Cookie]) -> @Sendable (HTTPFields, CurlewURI) -> Void {
        { [jar] fields, source in
            let isCurrent = jar.cookiesToSend(to: uri).elementsEqual(sent) {
                $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
            }
            if isCurrent, fields.contains(.setCookie) { jar.store(fields, from: source) }
        }
    }
}

extension RequestOptions {
    private enum CookieReceiptKey: Key {
        static let defaultValue: (@Sendable (HTTPFields, CurlewURI) -> Void)? = nil
        static let affectsResponse = false
    }

    /// Stores the cookies of a response that a link consumes and does not return, such as the response to a background
    /// validation of a cache. ``CookieHandling`` sets it for a request with cookies.
    /// - Note: The parameters are the fields of the response and its URI.
    package var cookieReceipt: (@Sendable (HTTPFields, CurlewURI) -> Void)? {
        get { self[CookieReceiptKey.self] }
        set { self[CookieReceiptKey.self] = newValue }
    }
}

extension RequestOptions {
    private enum UsesCookiesKey: Key {
        static let defaultValue: Bool? = nil
        static let affectsResponse = false
    }

    /// True if a ``CookieHandling`` link sends and stores cookies. nil, the default, means yes.
    public var usesCookies: Bool? {
        get { self[UsesCookiesKey.self] }
        set { self[UsesCookiesKey.self] = newValue }
    }
}

/// The Cookie field of a request (RFC 6265bis §5.8.3), made of the caller's and the jar's cookies.
struct CookieField {
    private var bytes: [UInt8]
    private let limit: Int
    /// The number of Cookie fields in the caller's request. Setting the field by its name would split it into one field
    /// for each cookie.
    private let given: Int

    /// Begins with the caller's cookies, which are unchanged.
    init(_ fields: HTTPFields, limit: ByteSize) {
        self.limit = limit.bytes
        let values = fields.filter { $0.name == .cookie }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        given = values.count
        bytes = Array(values.joined(separator: Self.separator))
    }

    /// Adds cookies up to the first that exceeds the limit. Cookies with a name that the caller has set are omitted.
    mutating func append(_ cookies: [CookieJar.Cookie]) {
        let names = given > 0 ? Self.names(in: bytes) : []
        for cookie in cookies where !names.contains(cookie.nameBytes) {
            let hasName = !cookie.nameBytes.isEmpty
            let size = cookie.nameBytes.count + cookie.valueBytes.count + (hasName ? 1 : 0)
            guard bytes.count + size + (bytes.isEmpty ? 0 : 2) <= limit else { return }
            if !bytes.isEmpty { bytes += Self.separator }
            bytes += cookie.nameBytes
            if hasName { bytes.append(.equals) }
            bytes += cookie.valueBytes
        }
    }

    /// The field; nil without cookies.
    var field: HTTPField? {
        // The jar's cookies have been checked; the caller's are checked before the request is sent.
        bytes.isEmpty ? nil : HTTPField(name: .cookie, lenientValue: bytes)
    }

    /// Sets the field in a request.
    func set(in fields: inout HTTPFields) {
        guard let field else { return }
        if given == 0 { fields.append(field) } else { fields[fields: .cookie] = [field] }
    }

    private static let separator = Array("; ".utf8)

    private static func names(in bytes: [UInt8]) -> Set<[UInt8]> {
        Set(
            bytes.split(separator: .semicolon).map { pair in
                Array((pair.firstIndex(of: .equals).map { pair[..<$0] } ?? []).trimmingBlanks)
            })
    }
}
