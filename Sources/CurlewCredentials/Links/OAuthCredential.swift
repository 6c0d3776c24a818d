public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// A link that adds an access token of OAuth 2 to requests as Bearer (RFC 6750), and renews the token.
///
/// - The token is requested for the first request, and renewed one minute before it expires. A random time of up to
///   half a minute makes the renewal earlier, so that machines that started together do not renew together. For a short
///   lifetime, each of the two times is at most a quarter of it.
/// - A response with the status 401 also renews the token. The request is sent once more, if its body can be read again
///   (``Curlew/ErrorCode/bodyNotReplayable``).
/// - One renewal serves all requests that wait for it. If it fails, each of them gets its error.
/// - A refresh token is used if there is one. If the server refuses it (`invalid_grant`), a client that acts for itself
///   requests a new token. A user's token is removed from the store, and the error is
///   ``Curlew/ErrorCode/tokenRefused``: the user must log in again.
/// - If the store cannot save a token, the request fails with the store's error. The token is kept, and the next
///   request saves it first.
/// - The store decides. A token that a login or another process has saved during a renewal is used, and not replaced.
///   A user's token that was removed from the store is not renewed.
/// - Place the link behind ``Curlew/StandardChain``, so that each attempt has the newest token.
/// - Only requests to the given origin get the token. A request with its own `Authorization` field is not changed.
///
/// ```swift
/// let client = OAuth.Client("s6BhdRkqt3", .basic(secret: secret))
/// let endpoint = try OAuth.Endpoint("https://as.example.com/token", client: client)
/// let credential = try OAuthCredential.clientCredentials(
///     for: "https://api.example.com", endpoint, scopes: ["birds"])
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     credential
/// }
/// ```
/// Copies share the token.
public struct OAuthCredential: CurlewMiddleware {
    private let renewal: CredentialRenewal<OAuth.Token>
    private let source: OAuthTokenSource

    /// A link with the token of a client that acts for itself (RFC 6749 §4.4).
    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that the token is for.
    ///   - endpoint: The token endpoint.
    ///   - scopes: The scopes of the token.
    ///   - parameters: Further parameters of the request for the token, such as `audience`.
    ///   - store: The store of the token.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL``, ``Curlew/ErrorCode/unsupportedScheme``,
    ///   or ``Curlew/ErrorCode/invalidRequest`` for an invalid scope or parameter.
    public static func clientCredentials(
        for origin: String, _ endpoint: OAuth.Endpoint, scopes: [String] = [],
        adding parameters: [(name: String, value: String)] = [],
        store: any OAuth.TokenStore = OAuth.MemoryTokenStore()
    ) throws -> OAuthCredential {
        var request = try OAuth.Request.clientCredentials(scopes: scopes)
        for (name, value) in parameters { request = try request.adding(name, value) }
        return try OAuthCredential(for: origin, endpoint, grant: request, store: store)
    }

    /// A link with the token of a logged-in user, which its refresh token renews (RFC 6749 §6).
    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that the token is for.
    ///   - endpoint: The token endpoint.
    ///   - store: The store of the token. A login saves the token there. Without a token, requests fail with
    ///     ``Curlew/ErrorCode/credentialUnavailable``.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL`` or ``Curlew/ErrorCode/unsupportedScheme``.
    public static func refreshing(
        for origin: String, _ endpoint: OAuth.Endpoint, store: any OAuth.TokenStore
    ) throws -> OAuthCredential {
        try OAuthCredential(for: origin, endpoint, grant: nil, store: store)
    }

    init(
        for origin: String, _ endpoint: OAuth.Endpoint, grant: OAuth.Request?, store: any OAuth.TokenStore,
        rule: TokenRenewal = TokenRenewal(), clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        let source = OAuthTokenSource(endpoint: endpoint, grant: grant, store: store, rule: rule, now: now)
        self.source = source
        // The rule already subtracts the time before the end, so the window of the link is zero.
        renewal = try CredentialRenewal(
            for: origin, window: .zero, clock: clock, lifetime: source.usableTime, apply: Self.apply,
            renew: source.renew)
    }

    private static func apply(_ token: OAuth.Token, _ request: inout CurlewRequest) {
        request.fields[.authorization] = "Bearer \(token.accessToken)"
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await renewal.intercept(request, next: next)
    }

    /// Discards the token, also in the store, for example when a user logs out. To revoke the token at the server, use
    /// ``OAuth/Endpoint/revoke(_:at:hint:)``. Copies share this.
    ///
    /// A renewal that is running is cancelled, and its token is neither used nor saved. For a client that acts for
    /// itself, the requests that wait for it get a new token. A user's requests fail with
    /// ``Curlew/ErrorCode/credentialUnavailable``, so none of them gets the token of the next user. If the renewal is
    /// using the store, the call waits for the store.
    /// - Throws: The error of the store, or ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cancelled`` if the task is
    ///   cancelled while it waits for the store. The token is then still in the store: call the function again.
    public func forget() async throws {
        let removal = source.beginRemoval()
        let isUser = source.grant == nil
        renewal.forget(
            failing: isUser ? CurlewError(.credentialUnavailable, "the token was discarded by a logout") : nil)
        try await source.finish(removal)
    }
}
