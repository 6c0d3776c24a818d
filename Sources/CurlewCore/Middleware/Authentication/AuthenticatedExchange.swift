internal import HTTPTypes

/// A request inside ``ChallengeAuthentication``, with the credentials that were tried for it.
struct AuthenticatedExchange {
    /// The party that sends a challenge: the origin, or a proxy.
    private enum Party { case origin, proxy }

    private let request: CurlewRequest
    private let credentials: [Credential.Scoped]
    private let schemes: Set<Credential.Scheme>
    private let decide: ChallengeAuthentication.Decide?
    private let memory: AuthenticationMemory
    private let origin: String

    private var uses: [Party: AuthenticationUse] = [:]
    private var tried: Set<AuthenticationUse.Identity> = []
    private var failureCount = 0
    private var renewals = 0
    private var answers = 0

    init(
        request: CurlewRequest, credentials: [Credential.Scoped], schemes: Set<Credential.Scheme>,
        decide: ChallengeAuthentication.Decide?, memory: AuthenticationMemory
    ) {
        self.request = request
        self.credentials = credentials
        self.schemes = schemes
        self.decide = decide
        self.memory = memory
        origin = request.uri.origin
        // The transport sends a user of the URI by Basic, so the link does not send another credential first.
        guard request.fields[.authorization] == nil, request.uri.userInformation == nil else { return }
        uses[.origin] = memory.accepted(origin, path: request.uri.path) ?? preemptive
    }

    /// The credential to send before any challenge.
    private var preemptive: AuthenticationUse? {
        guard let scoped = credentials.first(where: { $0.isPreemptive && $0.origin == origin }) else { return nil }
        let scheme: Credential.Scheme = scoped.credential.schemes.contains(.bearer) ? .bearer : .basic
        guard schemes.contains(scheme) else { return nil }
        return AuthenticationUse(
            credential: scoped.credential, scheme: scheme, realm: scoped.realm ?? "", isRemembered: true)
    }

    // MARK: Request

    /// The request with the present credentials. Each request has its own nonce count, so it is sent only once.
    mutating func authenticatedRequest() async throws -> CurlewRequest {
        var request = request
        if let use = uses[.origin] { try await apply(use, .origin, to: &request) }
        if let use = uses[.proxy] { try await apply(use, .proxy, to: &request) }
        return request
    }

    private func apply(_ use: AuthenticationUse, _ party: Party, to request: inout CurlewRequest) async throws {
        let place = party == .origin ? origin : Self.proxyOrigin
        let count = memory.count(use, place, path: request.uri.path)
        if use.scheme == .negotiate || use.scheme == .ntlm {
            request.options.engineCredential = EngineCredential(
                credential: use.credential, scheme: use.scheme, origin: origin)
            request.options.versionPolicy = .http11
            return
        }
        let name: HTTPField.Name = party == .origin ? .authorization : .proxyAuthorization
        let value = try await value(of: use, count: count, party)
        request.fields[fields: name] = value.map { [HTTPField(name: name, value: $0)] } ?? []
        request.grantSecret(name)
    }

    private func value(of use: AuthenticationUse, count: UInt32, _ party: Party) async throws -> [UInt8]? {
        guard let digest = use.digest, case .password(let user, let password) = use.credential.kind else {
            return try use.credential.value(for: use.scheme).map { Array($0.utf8) }
        }
        let answer = DigestAnswer(
            challenge: digest, user: user, password: password, count: count, clientNonce: Self.makeNonce())
        let body = request.body
        return try await answer.value(method: request.method, target: target(for: party)) { algorithm in
            guard body.isReplayable else { throw Self.notReplayable("a digest is over the body") }
            return try await body.hash(by: algorithm)
        }
    }

    private func target(for party: Party) -> String {
        guard party == .origin else { return request.uri.requestText }
        return request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
    }

    private static func makeNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }.hexadecimal
    }

    private static func notReplayable(_ reason: String) -> CurlewError {
        CurlewError(.bodyNotReplayable, "\(reason), and it can be read only once")
    }

    // MARK: Response

    /// True if the request is to be sent again with other credentials.
    mutating func shouldAnswer(_ response: CurlewResponse) async throws -> Bool {
        guard let party = party(asking: response) else {
            noteSuccess(response)
            return false
        }
        // The link does not replace credentials that the caller has set.
        let isCallers = party == .origin && request.fields[.authorization] != nil
        guard !isCallers, party == .origin || request.fields[.proxyAuthorization] == nil else { return false }
        guard answers < ChallengeAuthentication.attemptLimit, let use = try await answer(to: response, party) else {
            return false
        }
        guard request.body.isReplayable else {
            throw Self.notReplayable("the body would have to be sent again with the credentials").adding(
                CurlewError.Context(
                    method: request.method, uri: request.uri, stage: .receiving, response: response.head,
                    showsQuery: request.options.showsQueries))
        }
        answers += 1
        tried.insert(use.identity)
        uses[party] = use
        return true
    }

    private func party(asking response: CurlewResponse) -> Party? {
        switch response.status.code {
        case 401: .origin
        case 407: .proxy
        default: nil
        }
    }

    private mutating func answer(to response: CurlewResponse, _ party: Party) async throws -> AuthenticationUse? {
        let challenges = ChallengeAuthentication.Challenge.all(in: response.head)
        if let previous = uses[party] {
            if let renewed = renewed(previous, challenges) { return renewed }
            failureCount += 1
            memory.forget(previous, party == .origin ? origin : Self.proxyOrigin, path: request.uri.path)
            uses[party] = nil
        }
        let attempt = ChallengeAuthentication.Attempt(
            request: request, response: response.head, challenges: challenges, challenge: strongest(challenges),
            failureCount: failureCount)
        switch try await decide?(attempt).kind ?? .usual {
        case .refuse: return nil
        case .fail(let error): throw error
        case .use(let credential): return AuthenticationUse(credential, answering: challenges, in: schemes)
        case .usual: return usual(challenges, party)
        }
    }

    /// The same credential with a new nonce, if only the nonce had expired. A server that omits `stale` is given the
    /// benefit of the doubt if the nonce came from an earlier request.
    private mutating func renewed(
        _ previous: AuthenticationUse, _ challenges: [ChallengeAuthentication.Challenge]
    ) -> AuthenticationUse? {
        guard let digest = previous.digest, renewals < 3 else { return nil }
        let newest = challenges.compactMap(DigestChallenge.init).first {
            $0.realm.hasSameBytes(as: digest.realm) && $0.algorithm == digest.algorithm
        }
        guard let newest, !newest.nonce.hasSameBytes(as: digest.nonce) || newest.isStale else { return nil }
        guard newest.isStale || previous.isRemembered else { return nil }
        renewals += 1
        return AuthenticationUse(
            credential: previous.credential, scheme: previous.scheme, realm: newest.realm, digest: newest)
    }

    /// A credential of the link or of the URI that was not yet tried in this way.
    private func usual(_ challenges: [ChallengeAuthentication.Challenge], _ party: Party) -> AuthenticationUse? {
        let place = party == .origin ? origin : Self.proxyOrigin
        var candidates = credentials.filter { $0.origin == place }
        if party == .origin, let own = ownCredential { candidates.insert(own, at: 0) }
        for scoped in candidates {
            let fitting = challenges.filter { scoped.realm?.hasSameBytes(as: $0.realm) ?? true }
            guard !fitting.isEmpty || challenges.isEmpty else { continue }
            guard let use = AuthenticationUse(scoped.credential, answering: fitting, in: schemes) else { continue }
            if !tried.contains(use.identity), !wasSentByURI(use) { return use }
        }
        return nil
    }

    /// The user and password of the URI. The transport sends them by Basic if the request has no other credentials.
    private var ownCredential: Credential.Scoped? {
        guard let information = request.uri.userInformation else { return nil }
        // Split by bytes, as Basic does: a password may begin with a combining mark.
        let colon = information.utf8.firstIndex(of: .colon) ?? information.endIndex
        let password = String(information[colon...].unicodeScalars.dropFirst())
        return Credential.Scoped(
            origin: origin, .password(user: String(information[..<colon]), password: password))
    }

    private func wasSentByURI(_ use: AuthenticationUse) -> Bool {
        use.scheme == .basic && use.credential == ownCredential?.credential
    }

    private func strongest(_ challenges: [ChallengeAuthentication.Challenge]) -> ChallengeAuthentication.Challenge? {
        let order: [Credential.Scheme] = [.negotiate, .ntlm, .digest, .bearer, .basic]
        for scheme in order where schemes.contains(scheme) {
            let asked = challenges.filter { $0.scheme == scheme }
            guard scheme == .digest else {
                if let first = asked.first { return first }
                continue
            }
            let digests = asked.compactMap { challenge in DigestChallenge(challenge).map { (challenge, $0) } }
            if let best = digests.max(by: { $0.1.algorithm.strength < $1.1.algorithm.strength }) { return best.0 }
        }
        return nil
    }

    private func noteSuccess(_ response: CurlewResponse) {
        // The user information of one request is not remembered for others.
        if let use = uses[.origin], request.uri.userInformation == nil {
            memory.noteAccepted(
                use, origin, path: request.uri.path, nextNonce: Self.nextNonce(response.fields[.authenticationInfo]))
        }
        if let use = uses[.proxy] {
            memory.noteAccepted(
                use, Self.proxyOrigin, path: request.uri.path,
                nextNonce: Self.nextNonce(response.fields[.proxyAuthenticationInfo]))
        }
    }

    /// The field has the parameters of a challenge, without a scheme (RFC 7615 §3).
    private static func nextNonce(_ value: String?) -> String? {
        value.flatMap { ChallengeAuthentication.Challenge.all(in: "Digest \($0)").first?.parameters["nextnonce"] }
    }

    static let proxyOrigin = "proxy"
}
