internal import HTTPTypes

/// A credential in one scheme, as one request sends it.
struct AuthenticationUse: Sendable {
    let credential: Credential
    let scheme: Credential.Scheme
    let realm: String
    /// The challenge, for Digest.
    var digest: DigestChallenge?
    /// True if the credential was sent because of an earlier request, without a challenge to this one.
    var isRemembered = false

    /// The identity of a use, to recognize one that was already tried.
    struct Identity: Hashable {
        let credential: Credential
        let scheme: Credential.Scheme
        let realm: ExactText
        let algorithm: DigestChallenge.Algorithm?
    }

    var identity: Identity {
        Identity(credential: credential, scheme: scheme, realm: ExactText(realm), algorithm: digest?.algorithm)
    }

    /// The strongest answer to one of the challenges with a credential; nil if there is none.
    /// - Parameter schemes: The allowed schemes.
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
        // Servers that require a token often omit the challenge. A password is not sent without one.
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
