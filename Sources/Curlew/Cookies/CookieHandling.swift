internal import HTTPTypes

/// Sends the cookies of a jar, and keeps there what responses set.
///
/// - A request carries one Cookie field: what the caller has set in it, and behind that the jar's cookies for the URI, but
///   for names that the caller has set. The jar adds no more than ``CookieJar/Limits/fieldSize``.
/// - Every Set-Cookie field of a final response is taken from the URI that answered, whatever its status. Those of interim
///   responses are not.
/// - ``RequestOptions/usesCookies`` set to false neither sends nor stores.
///
/// A jar is shared by all who use its session: it is for a program that acts as one user, not for a server that sends the
/// requests of many over one session. It belongs to one session unless it is given to the links of several. Behind a link
/// that follows redirects it sees each request and each response, and so each sets its cookies and gets its own.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://example.com/") { CookieHandling() }
/// ```
public struct CookieHandling: CurlewMiddleware {
    /// The jar that holds the cookies.
    public let jar: CookieJar

    /// - Parameter jar: Where the cookies are: a new jar, unless one is to be shared or looked into.
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
            var field = CookieField(request.fields, limit: jar.limits.fieldSize)
            field.append(cookies)
            field.set(in: &request.fields)
            if !cookies.isEmpty { request.grantSecret(.cookie) }
            response = try await next(request)
        }
        if response.fields.contains(.setCookie) { jar.store(response.fields, from: response.uri) }
        return response
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

/// The Cookie field of a request (RFC 6265bis §5.8.3): one, made of the caller's and of the jar's cookies.
struct CookieField {
    private var bytes: [UInt8]
    private let limit: Int
    /// The number of Cookie fields that the caller has set. Setting one by name makes a field of every cookie in it.
    private let given: Int

    /// Begins with what the caller has set, which stays as it is.
    init(_ fields: HTTPFields, limit: ByteSize) {
        self.limit = limit.bytes
        let values = fields.filter { $0.name == .cookie }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        given = values.count
        bytes = Array(values.joined(separator: Self.separator))
    }

    /// Adds what fits, up to the first that does not. A name that the caller has set is the caller's.
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

    /// Puts the field into a request.
    func set(in fields: inout HTTPFields) {
        guard !bytes.isEmpty else { return }
        // What is in the jar has been checked; what the caller has set is checked before it leaves.
        let field = HTTPField(name: .cookie, lenientValue: bytes)
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
