public import Curlew
internal import HTTPTypes

/// Puts the logins of a netrc file into requests as Basic (RFC 7617).
///
/// - A login goes to the host that its entry names, over `https` alone unless the host is this machine. The entry `default` is
///   left out, as it would give its password to every host that a redirect names; ``usesDefaultEntry`` allows it.
/// - The link stands behind ``Curlew/StandardChain``, so that each redirect gets the login of its own host.
/// - A request with an `Authorization` field of its own is left alone.
///
/// ```swift
/// let netrc = try Netrc(contentsOf: "/home/me/.netrc")
/// let api = try HTTPSession {
///     StandardChain()
///     NetrcAuthentication(netrc)
/// }
/// ```
public struct NetrcAuthentication: CurlewMiddleware {
    /// True if the entry `default` counts for hosts without an entry.
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
        return try await next(authorized)
    }

    private static func isProtected(_ uri: CurlewURI) -> Bool {
        uri.scheme == "https" || ["localhost", "127.0.0.1", "[::1]", "::1"].contains(uri.host)
    }
}
