internal import HTTPTypes

/// A challenge for Digest (RFC 7616 §3.3).
struct DigestChallenge: Sendable, Hashable {
    /// A hash function, and a flag for the session variant, which binds the password's hash to the nonces.
    struct Algorithm: Sendable, Hashable {
        let name: String
        let function: MessageDigest.Algorithm
        let isSession: Bool

        /// The supported algorithms, the weakest first.
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

    /// The parts of the message that the digest covers.
    enum Quality: String, Sendable {
        case auth
        case authInt = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: Algorithm
    /// The name of the algorithm, if the server sent one.
    fileprivate let algorithmName: String?
    /// The known qualities that the server offers; empty if it offers none, as in RFC 2069.
    let qualities: [Quality]
    let isStale: Bool
    fileprivate let hashesUser: Bool
    fileprivate let isUTF8: Bool

    /// Creates a challenge; nil if it cannot be answered. Reasons are another scheme, no nonce, an unknown algorithm,
    /// or a session's algorithm without a known quality.
    ///
    /// Unknown qualities are ignored (RFC 7616 §3.3): a challenge with these alone is answered like one without `qop`.
    init?(_ challenge: ChallengeAuthentication.Challenge) {
        guard challenge.scheme == .digest, let nonce = challenge.parameters["nonce"] else { return nil }
        // An empty name counts as absent: a server with an unset option sends it.
        let name = challenge.parameters["algorithm"].flatMap { $0.isEmpty ? nil : $0 }
        guard let algorithm = Algorithm.named(name ?? "MD5") else { return nil }
        let offered = (challenge.parameters["qop"] ?? "")
            .split { $0 == "," || $0 == " " || $0 == "\t" }.compactMap { Quality(rawValue: $0.lowercased()) }
        // A session's hash needs a client nonce, which is only sent with qop.
        guard !offered.isEmpty || !algorithm.isSession else { return nil }
        realm = challenge.realm
        self.nonce = nonce
        opaque = challenge.parameters["opaque"]
        self.algorithm = algorithm
        algorithmName = name.map { _ in algorithm.name }
        qualities = offered
        isStale = challenge.parameters["stale"]?.lowercased() == "true"
        hashesUser = challenge.parameters["userhash"]?.lowercased() == "true"
        isUTF8 = challenge.parameters["charset"]?.lowercased() == "utf-8"
    }

    /// The same challenge with another nonce, as `Authentication-Info` announces it.
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

    /// `auth` if the server offers it: `auth-int` has to read the body once more.
    var quality: Quality? { qualities.contains(.auth) ? .auth : qualities.first }
}

/// The credentials of one request for Digest (RFC 7616 §3.4).
struct DigestAnswer {
    let challenge: DigestChallenge
    let user: String
    let password: String
    /// The number of uses of the nonce, including this one.
    let count: UInt32
    /// The client's nonce.
    let clientNonce: String

    /// The value of Authorization.
    /// - Parameters:
    ///   - target: The request target as it is sent.
    ///   - bodyHash: Hashes the body; called if the digest covers the body.
    func value(
        method: HTTPRequest.Method, target: String,
        bodyHash: (MessageDigest.Algorithm) async throws -> String
    ) async throws -> String {
        try Credential.check(user + password)
        let function = challenge.algorithm.function
        func hash(_ parts: String...) throws -> String {
            try MessageDigest.hash(parts.joined(separator: ":"), by: function)
        }
        var secret = try hash(user, challenge.realm, password)
        if challenge.algorithm.isSession { secret = try hash(secret, challenge.nonce, clientNonce) }
        var message = try hash(method.rawValue, target)
        if challenge.quality == .authInt {
            message = try hash(method.rawValue, target, await bodyHash(function))
        }
        let response =
            if let quality = challenge.quality {
                try hash(secret, challenge.nonce, countText, clientNonce, quality.rawValue, message)
            } else {
                try hash(secret, challenge.nonce, message)
            }
        let name = challenge.hashesUser ? try hash(user, challenge.realm) : user
        return try written(name: name, target: target, response: response)
    }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func written(name: String, target: String, response: String) throws -> String {
        var parts = [userPart(name)]
        parts.append("realm=\(quoted(challenge.realm))")
        parts.append("nonce=\(quoted(challenge.nonce))")
        parts.append("uri=\(quoted(target))")
        parts.append("response=\"\(response)\"")
        if let algorithm = challenge.algorithmName { parts.append("algorithm=\(algorithm)") }
        if let opaque = challenge.opaque { parts.append("opaque=\(quoted(opaque))") }
        if let quality = challenge.quality {
            parts += ["qop=\(quality.rawValue)", "nc=\(countText)", "cnonce=\"\(clientNonce)\""]
        }
        if challenge.hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// The user parameter. A name beyond ASCII is written as in RFC 8187 if the server declares UTF-8.
    private func userPart(_ name: String) -> String {
        guard challenge.isUTF8, name.utf8.contains(where: { $0 >= 0x80 }) else { return "username=\(quoted(name))" }
        var encoded = ""
        for byte in name.utf8 {
            if byte.isLetter || byte.isDigit {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return "username*=UTF-8''\(encoded)"
    }

    /// Quotes text byte by byte: a quotation mark and a following combining mark are one `Character`, different from
    /// the mark alone.
    private func quoted(_ text: String) -> String {
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
    }
}
