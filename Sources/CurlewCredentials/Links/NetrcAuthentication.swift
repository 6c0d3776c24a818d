public import Curlew
internal import HTTPTypes

/// A link that adds the logins of a netrc file to requests, by the scheme Basic (RFC 7617).
///
/// - A login is sent only to the host of its entry, and only over `https` unless the host is this machine. The entry
///   `default` is ignored, because every host that a redirect names would get its password; ``usesDefaultEntry``
///   enables it.
/// - Place the link behind ``Curlew/StandardChain``, so that each redirect gets the login of its own host.
/// - A request with its own `Authorization` field is not changed.
///
/// ```swift
/// let netrc = try Netrc(contentsOf: "/home/me/.netrc")
/// let api = try HTTPSession {
///     StandardChain()
///     NetrcAuthentication(netrc)
/// }
/// ```
public struct NetrcAuthentication: CurlewMiddleware {
    /// True if the entry `default` applies to hosts without an entry. False by default.
    public var usesDefaultEntry = false
    private let netrc: Netrc

    /// - Parameter netrc: The logins.
    public init(_ netrc: Netrc) { self.netrc = netrc }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.fields[.authorization] == nil, Self.isProtected(request.uri),
            let login = netrc.login(for: request.uri.host, usesDefaultEntry: usesDefaultEntry)
        else { return try await next(request) }
        var authorized = request
        do {
            authorized.fields[.authorization] =
                try Credential.password(user: login.user, password: login.password).value(for: .basic)
        } catch {
            throw error.adding(request)
        }
        authorized.grantSecret(.authorization)
        // Without TLS a proxy would read the login. A server on this machine is reached without one.
        if request.uri.scheme != "https" { authorized.options.proxy = Proxy.Configuration.none }
        return try await next(authorized)
    }

    private static func isProtected(_ uri: CurlewURI) -> Bool {
        uri.scheme == "https" || ["localhost", "127.0.0.1", "[::1]", "::1"].contains(uri.host)
    }
}
