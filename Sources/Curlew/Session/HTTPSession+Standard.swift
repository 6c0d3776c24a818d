public import HTTPTypes
public import Logging

/// The links that a client of a service should have, in the order in which they work well together.
///
/// From the caller to the network:
///
/// 1. ``RequestLogging`` sees a call once, and everything that became of it. It does nothing without a logger.
/// 2. ``Redirects`` sends each hop through all that follows, so that it is repeated by itself, with its own method and its
///    own host: a GET that a POST was sent on to may be tried again, though the POST may not.
/// 3. ``Retry`` repeats a single hop, and with it whatever follows.
///
/// Where other links belong:
///
/// - What makes the caller's request, such as a serializer, and what adds a credential once, such as a link for a bearer
///   token, is written *before* the chain. ``Redirects`` then takes the credential off where another origin is asked. Written
///   after it, the link would add it for that origin too.
/// - Decoding of contents belongs before ``Redirects``: the body that the caller reads is decoded once, and those that
///   are thrown away on the way never are. What it adds to the request stays with all hops.
/// - Cookies belong after ``Retry``: every hop has the cookies of its own origin, and what an answer sets is there for
///   the next hop and the next attempt.
/// - Authentication by origin belongs last, after the cookies: each attempt is signed anew, as a nonce or a time stamp
///   asks for, and a challenge is answered before ``Retry`` sees the 401.
/// - ``Hedging`` belongs right after ``Retry``.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     BearerToken(token: "secret")
///     StandardChain()
/// }
/// ```
///
/// A request that needs none of it costs no more than a look at its status.
public struct StandardChain: Middleware {
    /// What the chain does.
    public struct Options: Sendable {
        /// The link that logs; nothing is logged unless it has a logger.
        public var logging = RequestLogging(nil)
        /// The link that follows redirects.
        public var redirects = Redirects()
        /// The link that sends requests again. nil sends none again.
        public var retry: Retry? = Retry()

        /// - Parameter logger: What is logged to; nil logs nothing.
        public init(logger: Logger? = nil) { logging.logger = logger }
    }

    /// What the chain does.
    public let options: Options

    public init(_ options: Options = Options()) { self.options = options }

    public func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        try await options.logging.intercept(request) { request in
            try await options.redirects.intercept(request) { request in
                guard let retry = options.retry else { return try await next(request) }
                return try await retry.intercept(request, next: next)
            }
        }
    }
}

extension HTTPSession {
    /// Makes a client with a session of its own and the ``StandardChain``, whose documentation explains what it does and
    /// in which order.
    ///
    /// ```swift
    /// let api = try HTTPSession.standard(baseURL: "https://api.example.com/")
    /// ```
    /// - Parameters:
    ///   - baseURL: What relative references are read against. A slash is added to its path if it lacks one.
    ///   - configuration: How the session works.
    ///   - defaultFields: Fields for every request that does not have them itself.
    ///   - eventLoops: The loops to run on; none means ``EventLoop/shared``.
    ///   - options: What the chain does.
    /// - Throws: ``CurlewError`` for a URL that cannot be read or a configuration that cannot be used.
    public static func standard(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        eventLoops: [EventLoop] = [],
        options: StandardChain.Options = StandardChain.Options()
    ) throws -> HTTPSession {
        try HTTPSession(
            baseURL: baseURL, configuration: configuration, defaultFields: defaultFields, eventLoops: eventLoops
        ) {
            StandardChain(options)
        }
    }
}
