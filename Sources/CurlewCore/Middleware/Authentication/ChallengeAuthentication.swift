public import HTTPTypes

/// Answers challenges: Basic, Bearer and Digest, with credentials that are given beforehand or chosen by a closure.
///
/// - A credential is sent only to its own origin: scheme, host and port. Behind a link that follows redirects, each
///   redirected request is treated separately.
/// - The strongest answerable challenge is answered: Negotiate, NTLM, Digest with SHA-512-256, SHA-256, MD5, then
///   Basic. A password is never sent by Basic if the server offers Digest.
/// - Accepted credentials are sent without a challenge from then on: by Digest with the next count of its nonce, by
///   Basic in the same folder and below. An expired nonce is replaced without calling the closure.
/// - A request with its own `Authorization` field is left unchanged, and so is its 401.
/// - A user in the URI takes precedence over the link's credentials, for that request alone.
/// - When no further credential is left, the 401 or 407 is the response.
/// - A body that can be read only once cannot be sent again with an answer: ``ErrorCode/bodyNotReplayable``.
///
/// ```swift
/// let user = Credential.password(user: "curlew", password: "secret")
/// let session = try HTTPSession(baseURL: "https://api.example.com/") {
///     ChallengeAuthentication(try Credential.Scoped("https://api.example.com", user))
/// }
/// ```
/// Copies of a link share their memory, including the credentials that a closure chose: one link is for one user. The
/// article <doc:Authenticating> has the tables.
public struct ChallengeAuthentication: CurlewMiddleware {
    /// Decides about a challenge. It is called on the caller's executor, for each challenge of a request, at most
    /// ``attemptLimit`` times. An error that it throws is the error of the request.
    public typealias Decide =
        @Sendable (ChallengeAuthentication.Attempt) async throws -> ChallengeAuthentication.Decision

    /// The credentials. The first that fits is used first.
    public let credentials: [Credential.Scoped]
    /// The allowed schemes: Digest, Bearer and Basic. ``Credential/Scheme/negotiate`` and ``Credential/Scheme/ntlm``
    /// can be added; libcurl performs them, over HTTP/1.1.
    public var schemes: Set<Credential.Scheme> = [.digest, .bearer, .basic]
    /// The largest number of answers to challenges for one request: 8.
    public static let attemptLimit = 8

    private let decide: Decide?
    private let memory = AuthenticationMemory()

    /// - Parameters:
    ///   - credentials: The credentials, and the servers that may get them.
    ///   - decide: Decides about each challenge. Without it each credential answers once.
    public init(_ credentials: [Credential.Scoped], decide: Decide? = nil) {
        self.credentials = credentials
        self.decide = decide
    }

    /// - Parameters:
    ///   - credentials: The credentials, and the servers that may get them.
    ///   - decide: Decides about each challenge. Without it each credential answers once.
    public init(_ credentials: Credential.Scoped..., decide: Decide? = nil) {
        self.init(credentials, decide: decide)
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard !credentials.isEmpty || decide != nil || request.uri.userInformation != nil else {
            return try await next(request)
        }
        var exchange = AuthenticatedExchange(
            request: request, credentials: credentials, schemes: schemes, decide: decide, memory: memory)
        while true {
            let response = try await next(try await exchange.authenticatedRequest())
            guard try await exchange.shouldAnswer(response) else { return response }
            await response.discard()
        }
    }
}

extension ChallengeAuthentication {
    /// A request that was answered with 401 or 407, as the closure receives it.
    public struct Attempt: Sendable {
        /// The request, without the credentials that the link added.
        public let request: CurlewRequest
        /// The head of the response.
        public let response: HTTPResponse
        /// The challenges of the response, in order; empty if the server sent none or they are unreadable.
        public let challenges: [ChallengeAuthentication.Challenge]
        /// The strongest challenge that the link can answer; nil if there is none.
        public let challenge: ChallengeAuthentication.Challenge?
        /// The number of times that the server has refused credentials for this request; zero at first. An expired
        /// nonce does not count.
        public let failureCount: Int

        /// The scheme of ``challenge``.
        public var scheme: Credential.Scheme? { challenge?.scheme }
        /// The realm of ``challenge``.
        public var realm: String { challenge?.realm ?? "" }
        /// True if a proxy sent the challenge.
        public var isProxy: Bool { response.status.code == 407 }
    }
}

extension ChallengeAuthentication {
    /// The decision about a challenge.
    public struct Decision: Sendable {
        enum Kind: Sendable {
            case use(Credential)
            case usual
            case refuse
            case fail(any Error)
        }

        let kind: Kind

        /// Answers with this credential.
        public static func use(_ credential: Credential) -> ChallengeAuthentication.Decision {
            .init(kind: .use(credential))
        }
        /// Acts as without a closure: the link's own credential for the origin and realm answers, once.
        public static let usual = ChallengeAuthentication.Decision(kind: .usual)
        /// Sends no answer: the 401 or 407 is the response.
        public static let refuse = ChallengeAuthentication.Decision(kind: .refuse)
        /// Fails the request with this error. An error of another type than ``CurlewError`` becomes
        /// ``CurlewError/underlying`` of ``ErrorCode/foreignFailure``.
        public static func fail(_ error: any Error) -> ChallengeAuthentication.Decision { .init(kind: .fail(error)) }
    }
}

extension Credential {
    /// A credential, and the servers that may get it.
    public struct Scoped: Sendable, Hashable {
        /// Scheme, host and port of the servers that may get the credential, as ``CurlewURI/origin`` writes them.
        public let origin: String
        /// The realm of the credential; nil allows any.
        public let realm: String?
        /// The credential.
        public let credential: Credential
        /// True if the credential is sent before any challenge: Basic or Bearer with the first request.
        public let isPreemptive: Bool

        /// - Parameters:
        ///   - origin: A URL with the scheme, host and port of the servers; the rest of the URL does not matter.
        ///   - realm: The realm of the credential; nil allows any. A preemptive credential is sent whatever the realm.
        ///   - credential: The credential.
        ///   - isPreemptive: True if the credential is sent before any challenge, which is impossible for Digest.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
        public init(
            _ origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false
        ) throws {
            self.init(origin: try CurlewURI(origin).origin, realm: realm, credential, isPreemptive: isPreemptive)
        }

        init(origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false) {
            self.origin = origin
            self.realm = realm
            self.credential = credential
            self.isPreemptive = isPreemptive
        }

        /// A credential for any proxy that answers a request in absolute form with 407.
        /// ``Proxy/authenticated(user:password:by:)`` is for one proxy, also for tunnels, and needs no 407.
        public static func proxy(realm: String? = nil, _ credential: Credential) -> Credential.Scoped {
            Credential.Scoped(origin: AuthenticatedExchange.proxyOrigin, realm: realm, credential)
        }
    }
}
