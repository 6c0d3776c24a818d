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
    public func forget() async throws {
        try await source.forget()
        renewal.forget()
    }
}

/// The renewals of one credential.
struct OAuthTokenSource: Sendable {
    let endpoint: OAuth.Endpoint
    /// The request for a new token without a refresh token; nil for a user's token.
    let grant: OAuth.Request?
    let store: any OAuth.TokenStore
    let rule: TokenRenewal
    let now: @Sendable () -> Date
    /// A token that the store could not save. A server that rotates refresh tokens accepts no earlier one, so this
    /// token must not be lost.
    private struct Unsaved {
        let token: OAuth.Token
        /// The access token that the store had. If it has another one later, a login or another process has replaced
        /// it, and the unsaved token is obsolete.
        let replaced: String?
    }

    private let unsaved = Guarded<Unsaved?>(nil)

    init(
        endpoint: OAuth.Endpoint, grant: OAuth.Request?, store: any OAuth.TokenStore, rule: TokenRenewal,
        now: @escaping @Sendable () -> Date
    ) {
        self.endpoint = endpoint
        self.grant = grant
        self.store = store
        self.rule = rule
        self.now = now
    }

    /// The time for which a token is used from now on; nil for a token that does not expire.
    @Sendable
    func usableTime(_ token: OAuth.Token) -> Duration? {
        guard let end = token.expiration else { return nil }
        var generator = SystemRandomNumberGenerator()
        return rule.age(lifetime: .seconds(max(0, end.timeIntervalSince(now()))), using: &generator)
    }

    /// Discards the token.
    func forget() async throws {
        unsaved.withLock { $0 = nil }
        try await store.save(nil)
    }

    /// Saves a token in the place of another one. If that fails, the next renewal saves it before anything else.
    private func save(_ token: OAuth.Token, replacing stored: OAuth.Token?) async throws {
        unsaved.withLock { $0 = Unsaved(token: token, replaced: stored?.accessToken) }
        try await store.save(token)
        unsaved.withLock { $0 = nil }
    }

    /// The token of the store, after a token that it could not save earlier was saved.
    private func load() async throws -> OAuth.Token? {
        let stored = try await store.load()
        guard let waiting = unsaved.withLock({ $0 }) else { return stored }
        guard waiting.replaced.map({ stored?.accessToken.hasSameBytes(as: $0) == true }) ?? (stored == nil) else {
            unsaved.withLock { $0 = nil }
            return stored
        }
        try await save(waiting.token, replacing: stored)
        return waiting.token
    }

    /// The token that replaces another token.
    @Sendable
    func renew(_ old: OAuth.Token?) async throws -> OAuth.Token {
        let stored = try await load()
        // Another process, or a login, may have saved a newer token.
        if let stored, stored.isBearer, !isSame(stored, old), usableTime(stored).map({ $0 > .seconds(1) }) ?? true {
            return stored
        }
        let token = try await asked(after: stored ?? old)
        guard token.isBearer else {
            throw CurlewError(.invalidToken, "requests cannot carry the token, which is no access token")
        }
        try await save(token, replacing: stored)
        return token
    }

    private func isSame(_ one: OAuth.Token, _ other: OAuth.Token?) -> Bool {
        other.map { one.accessToken.hasSameBytes(as: $0.accessToken) } ?? false
    }

    private func asked(after last: OAuth.Token?) async throws -> OAuth.Token {
        if let last, let refreshToken = last.refreshToken {
            do {
                return try await endpoint.token(.refresh(refreshToken)).continuing(last)
            } catch let error as CurlewError where (error.underlying as? OAuth.Failure)?.code == .invalidGrant {
                try await store.save(nil)
                guard grant != nil else { throw error }
            }
        }
        guard let grant else {
            throw CurlewError(.credentialUnavailable, "there is no token that could be renewed: the user has to log in")
        }
        return try await endpoint.token(grant)
    }
}
