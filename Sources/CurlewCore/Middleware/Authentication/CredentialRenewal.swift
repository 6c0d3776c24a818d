public import HTTPTypes

/// Adds a renewable credential to requests, such as an access token of OAuth 2 (RFC 6749 §6), and renews it.
///
/// - The credential is renewed before use if there is none yet or its remaining lifetime is shorter than the window. It
///   is also renewed after a response with status 401 (``statuses``). Then the request is sent once more; the second
///   response is returned, even if it is a 401 too.
/// - Only one renewal runs at a time. Requests that begin during it, and those that receive a 401, wait for it. If it
///   fails, all waiting requests fail with its error. So do requests that were sent before and receive their 401 later.
///   The next request starts a new renewal.
/// - A task that is cancelled while it waits ends at once. The renewal continues for the other tasks, and is cancelled
///   when no task waits any more.
/// - Only requests to the given origin get the credential. A request with its own `Authorization` field is left
///   unchanged. Each field that `apply` sets counts as one of ``RequestOptions/secretFields``, and is removed where a
///   redirect leads to another origin.
/// - A body that can be read only once cannot be sent again: ``ErrorCode/bodyNotReplayable``. The next request renews.
///
/// ```swift
/// let authenticator = try CredentialRenewal(
///     for: "https://api.example.com", lifetime: { (token: Token) in .seconds(token.expiresIn) },
///     apply: { token, request in request.fields[.authorization] = "Bearer \(token.access)" },
///     renew: { old in try await login.post("token", .json(Renewal(old?.refresh)), as: Token.self) }
/// )
/// ```
/// The closure that renews should use a session without this link. Copies of the link share the credential.
public struct CredentialRenewal<Value: Sendable>: CurlewMiddleware {
    /// The scheme, host and port of the servers that get the credential.
    public let origin: String
    /// The statuses that refuse a credential: 401 by default. Some servers answer 403 or 419 to an expired token.
    public var statuses: Set<HTTPResponse.Status> = [.unauthorized]
    private let store: CredentialStore<Value>
    private let apply: @Sendable (Value, inout CurlewRequest) throws -> Void

    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that the credential is for.
    ///   - initial: A credential that exists already; its lifetime counts from now.
    ///   - window: A credential whose remaining lifetime is shorter is renewed before use. 60 seconds.
    ///   - clock: The clock that measures lifetimes.
    ///   - lifetime: The lifetime of a credential from its renewal; nil if it lasts until it is refused.
    ///   - apply: Adds the credential to a request.
    ///   - renew: Returns a new credential; its argument is the last one, if there was one. An error that it throws is
    ///     the error of the requests that wait.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(
        for origin: String, initial: Value? = nil, window: Duration = .seconds(60),
        clock: any Clock<Duration> = ContinuousClock(),
        lifetime: @escaping @Sendable (Value) -> Duration? = { _ in nil },
        apply: @escaping @Sendable (Value, inout CurlewRequest) throws -> Void,
        renew: @escaping @Sendable (Value?) async throws -> Value
    ) throws {
        self.origin = try CurlewURI(origin).origin
        self.apply = apply
        store = CredentialStore(
            initial: initial, window: window, elapsed: Timekeeper(clock).elapsed, lifetime: lifetime, renew: renew)
    }

    /// A link whose credential is a bearer token (RFC 6750): `Authorization: Bearer` and the token.
    ///
    /// ```swift
    /// let link = try CredentialRenewal(
    ///     for: "https://api.example.com", bearer: { (grant: Grant) in grant.accessToken },
    ///     renew: { last in try await login.post("token", .json(Renewal(last?.refreshToken)), as: Grant.self) })
    /// ```
    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that the credential is for.
    ///   - initial: A credential that exists already; its lifetime counts from now.
    ///   - window: A credential whose remaining lifetime is shorter is renewed before use. 60 seconds.
    ///   - lifetime: The lifetime of a credential from its renewal; nil if it lasts until it is refused.
    ///   - token: The token of a credential.
    ///   - renew: Returns a new credential; its argument is the last one, if there was one. An error that it throws is
    ///     the error of the requests that wait.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(
        for origin: String, initial: Value? = nil, window: Duration = .seconds(60),
        lifetime: @escaping @Sendable (Value) -> Duration? = { _ in nil },
        bearer token: @escaping @Sendable (Value) -> String,
        renew: @escaping @Sendable (Value?) async throws -> Value
    ) throws {
        try self.init(
            for: origin, initial: initial, window: window, lifetime: lifetime,
            apply: { value, request in
                request.fields[.authorization] = try Credential.bearer(token(value)).preemptiveValue
            }, renew: renew)
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.uri.origin == origin, request.fields[.authorization] == nil else {
            return try await next(request)
        }
        let issue = try await store.current()
        let response = try await next(authorized(request, issue.value))
        // A request of a user that has logged out is not sent again with the next user's credential.
        guard statuses.contains(response.status), store.isCurrent(issue) else { return response }
        guard request.body.isReplayable else {
            store.refuse(issue)
            throw CurlewError(
                .bodyNotReplayable, "the body would have to be sent again with a new credential",
                context: CurlewError.Context(
                    method: request.method, uri: request.uri, stage: .receiving, response: response.head,
                    showsQuery: request.options.showsQueries))
        }
        let renewed = try await store.renewed(after: issue)
        await response.discard()
        return try await next(authorized(request, renewed.value))
    }

    /// Discards the credential, for example when a user logs out. The next request renews, and the closure gets nil. A
    /// request that was sent with the discarded credential is not sent again: the caller gets its response, even a 401.
    /// Copies of the link share this.
    public func forget() { store.forget() }

    /// Discards the credential as ``forget()`` does.
    /// - Parameter error: The error of the requests that wait for a renewal; nil if they wait for a new renewal.
    package func forget(failing error: (any Error)?) { store.forget(failing: error) }

    private func authorized(_ request: CurlewRequest, _ value: Value) throws -> CurlewRequest {
        var authorized = request
        try apply(value, &authorized)
        // The credential is for this origin alone, whatever field holds it.
        let names = Set(
            authorized.fields.lazy.map(\.name).filter { name in
                !request.fields[name].hasSameBytes(as: authorized.fields[name])
            })
        if !names.isEmpty { authorized.options.secretFields.formUnion(names) }
        for name in names { authorized.grantSecret(name) }
        return authorized
    }
}
