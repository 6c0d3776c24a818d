internal import HTTPTypes
public import Logging

/// The links that a client of a service should have, in the order in which they work well together.
///
/// From the caller to the network:
///
/// 1. ``RequestLogging`` sees a call once, and everything that became of it. Its lines are at debug, and go to `Logger.current`
///    unless it has a logger of its own.
/// 2. ``ContentDecoding`` announces codings, which all hops then do, and decodes the body that the caller reads. Those that
///    are thrown away on the way are never decoded.
/// 3. ``Redirects`` sends each hop through all that follows, so that it is repeated by itself, with its own method and its
///    own host: a GET that a POST was sent on to may be tried again, though the POST may not.
/// 4. ``StrictTransport`` makes each hop one of `https` whose host has asked for it, so that all that follows sees `https`. There is
///    none by default; see ``Options/strictTransport``.
/// 5. ``Retry`` repeats a single hop, and with it whatever follows.
/// 6. ``ChallengeAuthentication`` signs each attempt anew, as a nonce or a time stamp asks for, and answers a challenge before
///    ``Retry`` sees the 401. It has no credentials by default.
/// 7. ``CookieHandling`` gives every hop the cookies of its own origin, and has what a response sets for the next hop, for the next
///    attempt and for the answer to a challenge. There is none by default; see ``Options/cookies``.
/// 8. ``HTTPCache`` sees requests and responses as they are on the wire: a hop has its own entry, Vary has the cookies and the
///    credentials that are sent, and a body is stored as it is coded. There is none by default; see ``Options/cache``.
///
/// Where other links belong:
///
/// - What makes the caller's request, such as a serializer, and what adds a credential once, such as a link for a bearer
///   token, is written *before* the chain. ``Redirects`` then takes the credential off where another origin is asked. Written
///   after it, the link would add it for that origin too.
/// - A ``CredentialRenewal`` and ``Hedging`` are written *after* it: every attempt has the newest token, and hedges are sent for
///   a single hop. So are those that limit load, ``CircuitBreaker``, ``RequestRateLimiter`` and ``ConcurrencyLimiter``, and
///   ``AlternativeServices`` and ``AddressBalancing``, which choose where each attempt connects to.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     BearerToken(token: "secret")
///     StandardChain()
/// }
/// ```
///
/// A program that acts as one user, such as a command line tool, keeps cookies as well:
///
/// ```swift
/// let api = try HTTPSession(chain: .singleUser)
/// ```
///
/// A request that needs none of it costs a little more than a look at its status.
public struct StandardChain: CurlewMiddleware {
    /// What the chain does.
    public struct Options: Sendable {
        /// The link that logs. nil logs nothing.
        public var logging: RequestLogging?
        /// The link that decodes contents. nil announces and decodes none.
        public var decoding: ContentDecoding? = ContentDecoding()
        /// The link that follows redirects.
        public var redirects = Redirects()
        /// The link that goes over to `https` where a host has asked for it. nil, the default, keeps to what is asked for.
        public var strictTransport: StrictTransport?
        /// The link that sends requests again. nil sends none again.
        public var retry: Retry? = Retry()
        /// The link that keeps cookies. nil, the default, keeps none.
        ///
        /// - Warning: A jar is shared by all who use the session. Where a server has one session for all its users, a cookie
        ///   that was set for one user's request would go with another's (CVE-2024-53990). A program that acts as one user
        ///   takes ``singleUser``; a server that needs cookies has a session, or a jar, for each user.
        public var cookies: CookieHandling?
        /// The link that answers challenges. nil, the default, answers none.
        public var authentication: ChallengeAuthentication?
        /// The link that answers from a store. nil, the default, stores nothing.
        public var cache: HTTPCache?

        /// - Parameter logger: What is logged to; nil is `Logger.current`.
        public init(logger: Logger? = nil) { logging = RequestLogging(logger) }

        /// The options of a program that acts as one user: the same, and cookies in a jar of their own. Each use of the name makes
        /// a new jar; ``cookies`` has it.
        ///
        /// ```swift
        /// var options = StandardChain.Options.singleUser
        /// options.cookies = CookieHandling(jar)          // a jar that was loaded, or is shared by sessions of the same user
        /// ```
        public static var singleUser: Options {
            var options = Options()
            options.cookies = CookieHandling()
            return options
        }

        /// The same, and a cache.
        ///
        /// ```swift
        /// let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching())
        /// ```
        /// - Parameter cache: The cache: one of its own in memory, for requests without credentials, unless another is given.
        public static func caching(_ cache: HTTPCache = HTTPCache()) -> Options {
            var options = Options()
            options.cache = cache
            return options
        }
    }

    /// What the chain does.
    public var options: Options { parts.options }
    private let parts: Parts

    public init(_ options: Options = Options()) { parts = Parts(options) }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard parts.isUsual, parts.logging?.isWanted != true else { return try await nested(request, next) }
        // The request goes out as the links would have it, in one frame. They come in with the first answer that concerns one.
        let begun = parts.begin(request)
        var sent = request
        let decodes = parts.decodes && request.options.decodesContent != false
        if decodes { ContentDecoding.announce(in: &sent) }
        let first: Result<CurlewResponse, any Error>
        do {
            let response = try await next(sent)
            guard response.status.code >= 300 || decodes && response.fields.contains(.contentEncoding) else {
                return response
            }
            first = .success(response)
        } catch { first = .failure(error) }
        return try await nested(request, next, FirstAnswer(first, begun))
    }

    // Not inlined: every call would keep room for it in its frame while it waits.
    @inline(never)
    private func nested(
        _ request: CurlewRequest, _ next: Next<CurlewRequest, CurlewResponse>, _ first: FirstAnswer? = nil
    ) async throws -> CurlewResponse {
        try await Nesting(options: parts.options, first: first).log(request, next)
    }
}

/// The links of a chain, where a call finds them without copying all of them.
private final class Parts: Sendable {
    let options: StandardChain.Options
    let logging: RequestLogging?
    let decodes: Bool
    private let retry: Retry?
    /// True if there are no links but those that a usual response does not concern.
    let isUsual: Bool

    init(_ options: StandardChain.Options) {
        self.options = options
        logging = options.logging
        decodes = options.decoding != nil
        retry = options.retry
        isUsual =
            options.strictTransport == nil && options.authentication == nil && options.cookies == nil
            && options.cache == nil
    }

    func begin(_ request: CurlewRequest) -> Beginning {
        Beginning(redirects: Redirects.begin(request), retry: retry?.begin(request))
    }
}

/// The moments at which a call begins for the links that measure it.
private struct Beginning {
    let redirects: Duration
    let retry: Duration?
}

/// The answer to a request that went out before the links were nested. They get it for the first request that they send.
private final class FirstAnswer: Sendable {
    private let answer: Guarded<Result<CurlewResponse, any Error>?>
    private let beginning: Guarded<Beginning?>
    /// The moment at which the call began for ``Redirects``.
    let start: Duration

    init(_ answer: Result<CurlewResponse, any Error>, _ beginning: Beginning) {
        self.answer = Guarded(answer)
        self.beginning = Guarded(beginning)
        start = beginning.redirects
    }

    func take() -> Result<CurlewResponse, any Error>? { answer.withLock { $0.take() } }

    /// The moment at which the first hop began for ``Retry``.
    func takeStart() -> Duration? { beginning.withLock { $0.take()?.retry } }
}

/// The links of the chain, each around the next.
private struct Nesting: Sendable {
    typealias Rest = Next<CurlewRequest, CurlewResponse>

    let options: StandardChain.Options
    let first: FirstAnswer?

    func log(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        guard let logging = options.logging else { return try await decode(request, next) }
        return try await logging.intercept(request) { try await decode($0, next) }
    }

    private func decode(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        guard let decoding = options.decoding else { return try await follow(request, next) }
        return try await decoding.intercept(request) { try await follow($0, next) }
    }

    private func follow(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        let start = first?.start ?? Redirects.begin(request)
        return try await options.redirects.intercept(request, from: start) { request in
            guard let strictTransport = options.strictTransport else { return try await repeated(request, next) }
            return try await strictTransport.intercept(request) { try await repeated($0, next) }
        }
    }

    private func repeated(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        guard let retry = options.retry else { return try await attempt(request, next) }
        let start = first?.takeStart() ?? retry.begin(request)
        return try await retry.intercept(request, from: start) { try await attempt($0, next) }
    }

    private func attempt(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        guard let authentication = options.authentication else { return try await exchange(request, next) }
        return try await authentication.intercept(request) { try await exchange($0, next) }
    }

    private func exchange(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        guard let cookies = options.cookies else { return try await answer(request, next) }
        return try await cookies.intercept(request) { try await answer($0, next) }
    }

    private func answer(_ request: CurlewRequest, _ next: Rest) async throws -> CurlewResponse {
        if let answer = first?.take() { return try answer.get() }
        guard let cache = options.cache else { return try await next(request) }
        return try await cache.intercept(request, next: next)
    }
}
