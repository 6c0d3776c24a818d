internal import HTTPTypes

/// Sends the cookies of a jar, and keeps there what responses set.
///
/// - A request carries one Cookie field: what the caller has set in it, and behind that the jar's cookies for the URI, but
///   for names that the caller has set. The jar adds no more than ``CookieLimits/fieldSize``.
/// - Every Set-Cookie field of a final response is taken from the URI that answered, whatever its status. Those of interim
///   responses are not.
/// - ``RequestOptions/usesCookies`` set to false neither sends nor stores.
///
/// A jar belongs to one session unless it is given to the links of several. Behind a link that follows redirects it sees
/// each request and each response, and so each sets its cookies and gets its own.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://example.com/") { Cookies() }
/// ```
public struct Cookies: Middleware {
    /// Where the cookies are.
    public let jar: CookieJar

    /// - Parameter jar: Where the cookies are: a new jar, unless one is to be shared or looked into.
    public init(_ jar: CookieJar = CookieJar()) { self.jar = jar }

    public func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        guard request.options.usesCookies != false else { return try await next(request) }
        let cookies = jar.cookiesToSend(to: request.uri)
        let response: Response
        if cookies.isEmpty, !request.fields.contains(.cookie) {
            response = try await next(request)
        } else {
            var request = request
            var field = CookieField(request.fields, limit: jar.limits.fieldSize)
            field.append(cookies)
            field.set(in: &request.fields)
            response = try await next(request)
        }
        if response.fields.contains(.setCookie) { jar.store(response.fields, from: response.uri) }
        return response
    }
}

extension RequestOptions {
    private enum UsesCookiesKey: Key { static let defaultValue: Bool? = nil }

    /// Whether a ``Cookies`` link sends and stores cookies. nil, the default, means yes.
    public var usesCookies: Bool? {
        get { self[UsesCookiesKey.self] }
        set { self[UsesCookiesKey.self] = newValue }
    }
}
