internal import HTTPTypes
public import Logging

/// The links (middleware) that a client of a service should have, in an order in which they work well together.
///
/// From the caller to the network:
///
/// 1. ``RequestLogging`` logs a call once, with its retries and redirects. Its lines have the level debug, and go to
///    `Logger.current` unless it has its own logger.
/// 2. ``ContentDecoding`` announces codings for all hops, and decodes the body that the caller reads. Bodies of
///    redirects and failed attempts are never decoded.
/// 3. ``Redirects`` sends each hop through the links below. Each hop is therefore retried alone, with its own method
///    and host: after a POST is redirected to a GET, the GET may be retried, but not the POST.
/// 4. ``StrictTransport`` changes a hop to `https` if its host has requested it, so that all links below see `https`.
///    Absent by default; see ``Options/strictTransport``.
/// 5. ``Retry`` repeats a single hop, through all links below.
/// 6. ``ChallengeAuthentication`` signs each attempt again, because a nonce or a time stamp requires it. It answers a
///    challenge before ``Retry`` sees the 401. It has no credentials by default.
/// 7. ``CookieHandling`` adds the cookies of its own origin to every hop. It stores new cookies of a response for the
///    next hop, the next attempt and the answer to a challenge. Absent by default; see ``Options/cookies``.
/// 8. ``HTTPCache`` sees requests and responses as on the wire. A hop has its own entry, Vary covers the cookies and
///    credentials that are sent, and a body is stored in its coding. Absent by default; see ``Options/cache``.
///
/// The place of other links:
///
/// - Links that make the caller's request, such as a serializer, and links that add a credential once, such as a bearer
///   token, are written *before* the chain. ``Redirects`` then removes the credential from requests to another origin.
///   A link written after the chain would add it for that origin too.
/// - ``CredentialRenewal`` and ``Hedging`` are written *after* the chain: every attempt has the newest token, and
///   hedges are sent for a single hop. The same holds for the links that limit load (``CircuitBreaker``,
///   ``RequestRateLimiter`` and ``ConcurrencyLimiter``), and for ``AlternativeServices`` and ``AddressBalancing``,
///   which choose the address of each attempt.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     BearerToken(token: "secret")
///     StandardChain()
/// }
/// ```
///
/// A program that acts as one user, such as a command line tool, can also keep cookies:
///
/// ```swift
/// let api = try HTTPSession(chain: .singleUser)
/// ```
///
/// A request that needs none of the links costs little more than a check of its status.
public struct StandardChain: CurlewMiddleware {
    /// The options of the chain.
    public struct Options: Sendable {
        /// The link that logs. nil disables logging.
        public var logging: RequestLogging?
        /// The link that decodes contents. nil disables announcing and decoding.
        public var decoding: ContentDecoding? = ContentDecoding()
        /// The link that follows redirects.
        public var redirects = Redirects()
        /// The link of the module CurlewLoad that changes to `https`; see `strictTransport` there.
        package var transportLink: (any RequestLink)?
        /// The link that retries requests. nil disables retries.
        public var retry: Retry? = Retry()
        /// The link that keeps cookies. nil, the default, keeps none.
        ///
        /// - Warning: All users of the session share its jar. If a server has one session for all its users, a cookie
        ///   that was set for one user would be sent with another user's request (CVE-2024-53990). A program that acts
        ///   as one user uses ``singleUser``; a server that needs cookies has a session, or a jar, for each user.
        public var cookies: CookieHandling?
        /// The link that answers challenges. nil, the default, leaves challenges unanswered.
        public var authentication: ChallengeAuthentication?
        /// The link of the module CurlewCache that answers from a store; see `cache` there.
        package var cacheLink: (any RequestLink)?

        /// - Parameter logger: The logger; nil is `Logger.current`.
        public init(logger: Logger? = nil) { logging = RequestLogging(logger) }

        /// The options of a program that acts as one user: the defaults, and cookies in a new jar. Each access makes a
        /// new jar, which is in ``cookies``.
        ///
        /// ```swift
        /// var options = StandardChain.Options.singleUser
        /// options.cookies = CookieHandling(jar)  // a loaded jar, or one that sessions of the same user share
        /// ```
        public static var singleUser: Options {
            var options = Options()
            options.cookies = CookieHandling()
            return options
        }
    }

    /// The options of the chain.
    public var options: Options { parts.options }
    private let parts: Parts

    public init(_ options: Options = Options()) { parts = Parts(options) }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        var request = request
        return try await send(&request, next: next)
    }

    /// Sends a request through the chain. The request is changed in place, because a copy costs more than the links do.
    /// It may keep an added field.
    func send(_ request: inout CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard parts.isUsual, parts.logging?.isWanted != true else { return try await nested(request, next) }
        // A request without special links is sent in one frame. The links are nested only for a response or an error
        // that concerns one of them.
        let begun = parts.begin(request)
        let fields = request.fields
        let decodes = parts.decodes && request.options.decodesContent != false
        if decodes { ContentDecoding.announce(in: &request) }
        let first: Result<CurlewResponse, any Error>
        do {
            let response = try await next(request)
            guard response.status.code >= 300 || decodes && response.fields.contains(.contentEncoding) else {
                return response
            }
            first = .success(response)
        } catch { first = .failure(error) }
        request.fields = fields
        return try await nested(request, next, FirstAnswer(first, begun))
    }

    // This function is not inlined: every call would keep room for it in its frame while it waits.
    @inline(never)
    private func nested(
        _ request: CurlewRequest, _ next: Next<CurlewRequest, CurlewResponse>, _ first: FirstAnswer? = nil
    ) async throws -> CurlewResponse {
        try await Nesting(options: parts.options, first: first).log(request, next)
    }
}

/// The links of a chain as an object, so that a call does not copy them.
private final class Parts: Sendable {
    let options: StandardChain.Options
    let logging: RequestLogging?
    let decodes: Bool
    private let retry: Retry.Start?
    /// True if a usual response concerns none of the links.
    let isUsual: Bool

    init(_ options: StandardChain.Options) {
        self.options = options
        logging = options.logging
        decodes = options.decoding != nil
        retry = options.retry.map { Retry.Start($0) }
        isUsual =
            options.transportLink == nil && options.authentication == nil && options.cookies == nil
            && options.cacheLink == nil
    }

    func begin(_ request: CurlewRequest) -> Beginning {
        Beginning(redirects: Redirects.begin(request), retry: retry?.begin(request))
    }
}

/// The start times of a call for the links that measure it.
private struct Beginning {
    let redirects: Duration
    let retry: Duration?
}

/// The result of a request that was sent before the links were nested. The links get it for the first request that they
/// send.
private final class FirstAnswer: Sendable {
    private let answer: Guarded<Result<CurlewResponse, any Error>?>
    private let beginning: Guarded<Beginning?>
    /// The start of the call for ``Redirects``.
    let start: Duration

    init(_ answer: Result<CurlewResponse, any Error>, _ beginning: Beginning) {
        self.answer = Guarded(answer)
        self.beginning = Guarded(beginning)
        start = beginning.redirects
    }

    func take() -> Result<CurlewResponse, any Error>? { answer.withLock { $0.take() } }

    /// The start of the first hop for ``Retry``.
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
            guard let strictTransport = options.transportLink else { return try await repeated(request, next) }
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
        guard let cache = options.cacheLink else { return try await next(request) }
        return try await cache.intercept(request, next: next)
    }
}
