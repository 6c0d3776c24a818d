public import HTTPTypes

/// Answers challenges: Basic, Bearer and Digest, by credentials given beforehand or by a closure that is asked.
///
/// - A credential goes to the origin that it is for, scheme, host and port, and nowhere else. Behind a link that follows
///   redirects each hop is looked at for itself.
/// - Of the challenges that can be answered the strongest is: Negotiate, NTLM, Digest with SHA-512-256, SHA-256, MD5, Basic.
///   A password is never sent by Basic where Digest is on offer.
/// - What a server took is sent unasked from then on: by Digest with the next count of its nonce, by Basic in the same folder
///   and below. A nonce that is out of date is replaced without anybody being asked.
/// - A request that has an `Authorization` field of its own is left alone, and so is its 401.
/// - A user in the URI goes before the link's credentials, for that request alone.
/// - When nothing is left to try the 401 or 407 is the response.
/// - A body that can be read only once cannot go along with the answer: ``ErrorCode/bodyNotReplayable``.
///
/// ```swift
/// let session = try HTTPSession(baseURL: "https://api.example.com/") {
///     ChallengeAuthentication(try Credential.Scoped("https://api.example.com", .password(user: "curlew", password: "secret")))
/// }
/// ```
/// Copies of a link share what they have learned, the credentials that a closure gave included: one link is one user. The
/// article <doc:Authenticating> has the tables.
public struct ChallengeAuthentication: CurlewMiddleware {
    /// Decides about a challenge. It is called on the caller's executor, for each challenge of a request again, at most
    /// ``attemptLimit`` times. What it throws is the error of the request.
    public typealias Decide =
        @Sendable (ChallengeAuthentication.Attempt) async throws -> ChallengeAuthentication.Decision

    /// Credentials, the first that fits before the others.
    public let credentials: [Credential.Scoped]
    /// The schemes that may be used: Digest, Bearer and Basic. ``Credential/Scheme/negotiate`` and
    /// ``Credential/Scheme/ntlm`` can be added; libcurl carries them out, over HTTP/1.1.
    public var schemes: Set<Credential.Scheme> = [.digest, .bearer, .basic]
    /// The most answers to challenges that are sent for one request.
    public static let attemptLimit = 8

    private let decide: Decide?
    private let memory = AuthenticationMemory()

    /// - Parameters:
    ///   - credentials: Credentials, and where they may go.
    ///   - decide: Decides about each challenge; without it the credentials answer, each once.
    public init(_ credentials: [Credential.Scoped], decide: Decide? = nil) {
        self.credentials = credentials
        self.decide = decide
    }

    /// - Parameters:
    ///   - credentials: Credentials, and where they may go.
    ///   - decide: Decides about each challenge.
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
    /// A request that was answered with 401 or 407, for a closure to decide about.
    public struct Attempt: Sendable {
        /// The request, without the credentials that the link had added.
        public let request: CurlewRequest
        /// The head of the answer.
        public let response: HTTPResponse
        /// The challenges that came with it, in their order; none if the server forgot them or they cannot be read.
        public let challenges: [ChallengeAuthentication.Challenge]
        /// The strongest of them that the link can answer; nil if it can answer none.
        public let challenge: ChallengeAuthentication.Challenge?
        /// The number of times that credentials have been refused for this request. Zero at first; a nonce that was out of
        /// date does not count.
        public let failureCount: Int

        /// The scheme of ``challenge``.
        public var scheme: Credential.Scheme? { challenge?.scheme }
        /// The realm of ``challenge``.
        public var realm: String { challenge?.realm ?? "" }
        /// True if it is a proxy that asks.
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
        /// Does as without a closure: the link's own credential for the origin and realm, once.
        public static let usual = ChallengeAuthentication.Decision(kind: .usual)
        /// Answers nothing: the 401 or 407 is the response.
        public static let refuse = ChallengeAuthentication.Decision(kind: .refuse)
        /// Fails the request with this error; one that is no ``CurlewError`` is ``CurlewError/underlying`` of ``ErrorCode/foreignFailure``.
        public static func fail(_ error: any Error) -> ChallengeAuthentication.Decision { .init(kind: .fail(error)) }
    }
}

extension Credential {
    /// A credential, and where it may go.
    public struct Scoped: Sendable, Hashable {
        /// Scheme, host and port of the servers that may get it, as ``CurlewURI/origin`` writes them.
        public let origin: String
        /// The part of the server that it is for; nil means all of it.
        public let realm: String?
        /// The credential.
        public let credential: Credential
        /// True if it is sent before anybody asks: Basic or Bearer with the first request already.
        public let isPreemptive: Bool

        /// - Parameters:
        ///   - origin: A URL with the scheme, host and port that it is for; the rest of the URL does not matter.
        ///   - realm: The realm that it is for; any when nil. One that is preemptive is sent unasked, whatever its realm.
        ///   - credential: The credential.
        ///   - isPreemptive: Whether it is sent before anybody asks. Digest cannot be.
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

        /// A credential for whichever proxy answers a request in absolute form with 407, and only then.
        /// ``Proxy/authenticated(user:password:by:)`` is for one proxy, for tunnels as well, and needs no 407.
        public static func proxy(realm: String? = nil, _ credential: Credential) -> Credential.Scoped {
            Credential.Scoped(origin: AuthenticatedExchange.proxyOrigin, realm: realm, credential)
        }
    }
}
