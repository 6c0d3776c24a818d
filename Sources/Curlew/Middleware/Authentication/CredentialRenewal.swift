public import HTTPTypes

/// Puts a credential that can be renewed into requests, such as an access token of OAuth 2 (RFC 6749 §6), and renews it.
///
/// - It is renewed before it is used if there is none yet or its end is nearer than the window, and after a response with
///   status 401 (``statuses``). Then the request is sent once more; what comes back is the response, a second 401 included.
/// - One renewal is under way at a time, whoever asked for it. Requests that begin meanwhile, and those that meet a 401, wait
///   for it. If it fails, all that wait fail with its error, and so do those whose 401 comes later but that had been sent
///   before; the next request tries anew.
/// - A task that is cancelled while it waits ends at once. The renewal goes on for the others, and is cancelled when nobody
///   waits any more.
/// - Only requests to the given origin get the credential. One with an `Authorization` field of its own is left alone. Each field that
///   `apply` sets counts as one of ``RequestOptions/secretFields``, and is taken off where a redirect leads to another origin.
/// - A body that can be read only once cannot go along again: ``ErrorCode/bodyNotReplayable``. The next request renews.
///
/// ```swift
/// let authenticator = try CredentialRenewal(
///     for: "https://api.example.com", lifetime: { (token: Token) in .seconds(token.expiresIn) },
///     apply: { token, request in request.fields[.authorization] = "Bearer \(token.access)" },
///     renew: { old in try await login.post("token", .json(Renewal(old?.refresh)), as: Token.self) }
/// )
/// ```
/// The closure that renews should use a session without this link. Copies share the credential.
public struct CredentialRenewal<Value: Sendable>: CurlewMiddleware {
    /// Scheme, host and port of the servers that get the credential.
    public let origin: String
    /// The statuses by which the server refuses a credential: 401 by default. Some servers answer 403 or 419 to a token that has expired.
    public var statuses: Set<HTTPResponse.Status> = [.unauthorized]
    private let store: CredentialStore<Value>
    private let apply: @Sendable (Value, inout CurlewRequest) throws -> Void

    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that the credential is for.
    ///   - initial: A credential that is there already; its lifetime counts from now.
    ///   - window: A credential that ends sooner than this is renewed before it is used. 60 seconds.
    ///   - clock: What lifetimes are measured with.
    ///   - lifetime: How long a credential lasts from when it came; nil if until it is refused.
    ///   - apply: Puts the credential into a request.
    ///   - renew: Brings a new credential; it gets the last one, if there was one. What it throws is the error of those that
    ///     wait.
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

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.uri.origin == origin, request.fields[.authorization] == nil else {
            return try await next(request)
        }
        let issue = try await store.current()
        let response = try await next(authorized(request, issue.value))
        // A request of a user who has logged out is not sent again for the next one.
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

    /// Drops the credential, as when a user logs out. The next request renews, and the closure gets nil. A request that was sent with the
    /// dropped credential is not sent again: its response, a 401 included, is the caller's. Copies of the link share this.
    public func forget() { store.forget() }

    private func authorized(_ request: CurlewRequest, _ value: Value) throws -> CurlewRequest {
        var authorized = request
        try apply(value, &authorized)
        // The credential is for this origin alone, whichever field holds it.
        let names = Set(
            authorized.fields.lazy.map(\.name).filter { name in
                !request.fields[name].hasSameBytes(as: authorized.fields[name])
            })
        if !names.isEmpty { authorized.options.secretFields.formUnion(names) }
        for name in names { authorized.grantSecret(name) }
        return authorized
    }
}
