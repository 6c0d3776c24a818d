public import HTTPTypes

/// A request that was answered with 401 or 407, for a closure to decide about.
public struct AuthenticationAttempt: Sendable {
    /// The request, without the credentials that the link had added.
    public let request: Request
    /// The head of the answer.
    public let response: HTTPResponse
    /// The challenges that came with it, in their order; none if the server forgot them or they cannot be read.
    public let challenges: [AuthenticationChallenge]
    /// The strongest of them that the link can answer; nil if it can answer none.
    public let challenge: AuthenticationChallenge?
    /// How often credentials have been refused for this request. Zero at first; a nonce that was out of date does not count.
    public let failureCount: Int

    /// The scheme of ``challenge``.
    public var scheme: AuthenticationScheme? { challenge?.scheme }
    /// The realm of ``challenge``.
    public var realm: String { challenge?.realm ?? "" }
    /// Whether it is a proxy that asks.
    public var isProxy: Bool { response.status.code == 407 }
}

/// What is to become of a challenge.
public struct AuthenticationDecision: Sendable {
    enum Kind: Sendable {
        case use(Credential)
        case usual
        case refuse
        case fail(any Error)
    }

    let kind: Kind

    /// Answers with this credential.
    public static func use(_ credential: Credential) -> AuthenticationDecision { .init(kind: .use(credential)) }
    /// Does as without a closure: the link's own credential for the origin and realm, once.
    public static let usual = AuthenticationDecision(kind: .usual)
    /// Answers nothing: the 401 or 407 is the response.
    public static let refuse = AuthenticationDecision(kind: .refuse)
    /// Fails the request with exactly this error.
    public static func fail(_ error: any Error) -> AuthenticationDecision { .init(kind: .fail(error)) }
}
