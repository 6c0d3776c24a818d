/// What a server asks for with Digest (RFC 7616 §3.3), read from a challenge.
struct DigestChallenge: Sendable, Hashable {
    /// A hash function, and whether the password's hash is bound to the nonces of a session.
    struct Algorithm: Sendable, Hashable {
        let name: String
        let function: MessageDigest.Algorithm
        let isSession: Bool

        /// The algorithms that can be answered, the weakest first.
        static let all = [
            Algorithm(name: "MD5", function: .md5, isSession: false),
            Algorithm(name: "MD5-sess", function: .md5, isSession: true),
            Algorithm(name: "SHA-256", function: .sha256, isSession: false),
            Algorithm(name: "SHA-256-sess", function: .sha256, isSession: true),
            Algorithm(name: "SHA-512-256", function: .sha512Truncated, isSession: false),
            Algorithm(name: "SHA-512-256-sess", function: .sha512Truncated, isSession: true),
        ]

        static func named(_ name: String) -> Algorithm? { all.first { $0.name.lowercased() == name.lowercased() } }

        var strength: Int { Self.all.firstIndex(of: self) ?? 0 }
    }

    /// What the digest is over.
    enum Quality: String, Sendable {
        case auth
        case authInt = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// As the server wrote the algorithm; nil if it did not.
    let algorithmName: String?
    /// The qualities that are on offer and known here; empty for a server of RFC 2069, which knows none.
    let qualities: [Quality]
    let isStale: Bool
    let hashesUser: Bool
    let isUTF8: Bool

    /// nil if it cannot be answered: another scheme, no nonce, an unknown algorithm, or unknown qualities only.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.scheme == .digest, let nonce = challenge.parameters["nonce"] else { return nil }
        let name = challenge.parameters["algorithm"]
        guard let algorithm = Algorithm.named(name ?? "MD5") else { return nil }
        let offered = challenge.parameters["qop"].map {
            $0.split { $0 == "," || $0 == " " || $0 == "\t" }.compactMap { Quality(rawValue: $0.lowercased()) }
        }
        guard offered?.isEmpty != true else { return nil }
        // A session's hash needs a nonce of ours, which comes with qop.
        guard offered != nil || !algorithm.isSession else { return nil }
        realm = challenge.realm
        self.nonce = nonce
        opaque = challenge.parameters["opaque"]
        self.algorithm = algorithm
        algorithmName = name.map { _ in algorithm.name }
        qualities = offered ?? []
        isStale = challenge.parameters["stale"]?.lowercased() == "true"
        hashesUser = challenge.parameters["userhash"]?.lowercased() == "true"
        isUTF8 = challenge.parameters["charset"]?.lowercased() == "utf-8"
    }

    /// The same with another nonce, as `Authentication-Info` announces it.
    init(_ challenge: DigestChallenge, nonce: String) {
        realm = challenge.realm
        self.nonce = nonce
        opaque = challenge.opaque
        algorithm = challenge.algorithm
        algorithmName = challenge.algorithmName
        qualities = challenge.qualities
        isStale = false
        hashesUser = challenge.hashesUser
        isUTF8 = challenge.isUTF8
    }

    /// `auth` where it is on offer: `auth-int` reads the body once more.
    var quality: Quality? { qualities.contains(.auth) ? .auth : qualities.first }
}
