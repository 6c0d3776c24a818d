internal import HTTPTypes

/// A credential on its way in one scheme, for one request.
struct AuthenticationUse: Sendable {
    let credential: Credential
    let scheme: Credential.Scheme
    let realm: String
    /// For Digest, what was asked.
    var digest: DigestChallenge?
    /// True if it was sent on the strength of an earlier request, and not of a challenge to this one.
    var isRemembered = false

    /// The identity by which a use that is tried again is recognized.
    struct Identity: Hashable {
        let credential: Credential
        let scheme: Credential.Scheme
        let realm: ExactText
        let algorithm: DigestChallenge.Algorithm?
    }

    var identity: Identity {
        Identity(credential: credential, scheme: scheme, realm: ExactText(realm), algorithm: digest?.algorithm)
    }

    /// The strongest way to answer one of the challenges with a credential, if there is any.
    /// - Parameter schemes: Those that may be used.
    init?(
        _ credential: Credential, answering challenges: [ChallengeAuthentication.Challenge],
        in schemes: Set<Credential.Scheme>
    ) {
        for scheme in credential.schemes where schemes.contains(scheme) {
            let asked = challenges.filter { $0.scheme == scheme }
            if scheme == .digest {
                let digests = asked.compactMap(DigestChallenge.init)
                guard let best = digests.max(by: { $0.algorithm.strength < $1.algorithm.strength }) else { continue }
                self.init(credential: credential, scheme: scheme, realm: best.realm, digest: best)
                return
            }
            guard let first = asked.first else { continue }
            self.init(credential: credential, scheme: scheme, realm: first.realm)
            return
        }
        // A server that wants a token, and forgets to say so, is common; a password is not sent on a guess.
        guard challenges.isEmpty, credential.schemes == [.bearer], schemes.contains(.bearer) else { return nil }
        self.init(credential: credential, scheme: .bearer, realm: "")
    }

    init(
        credential: Credential, scheme: Credential.Scheme, realm: String, digest: DigestChallenge? = nil,
        isRemembered: Bool = false
    ) {
        self.credential = credential
        self.scheme = scheme
        self.realm = realm
        self.digest = digest
        self.isRemembered = isRemembered
    }
}
