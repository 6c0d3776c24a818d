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
    /// The bytes of the realm, the nonce and the opaque text, which need not be UTF-8. The answer repeats these bytes.
    fileprivate let realmBytes: [UInt8]
    fileprivate let nonceBytes: [UInt8]
    fileprivate let opaqueBytes: [UInt8]?
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
        let offered = (challenge.parameters["qop"] ?? "").utf8
            .split { $0 == .comma || $0.isBlank }
            .compactMap { Quality(rawValue: String(decoding: $0, as: UTF8.self).lowercased()) }
        // A session's hash needs a client nonce, which is only sent with qop.
        guard !offered.isEmpty || !algorithm.isSession else { return nil }
        realm = challenge.realm
        self.nonce = nonce
        opaque = challenge.parameters["opaque"]
        realmBytes = challenge.bytes(of: "realm") ?? []
        nonceBytes = challenge.bytes(of: "nonce") ?? []
        opaqueBytes = challenge.bytes(of: "opaque")
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
        realmBytes = challenge.realmBytes
        nonceBytes = Array(nonce.utf8)
        opaqueBytes = challenge.opaqueBytes
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

    /// The value of Authorization. It is UTF-8 unless the challenge is not.
    /// - Parameters:
    ///   - target: The request target as it is sent.
    ///   - bodyHash: Hashes the body; called if the digest covers the body.
    func value(
        method: HTTPRequest.Method, target: String,
        bodyHash: (MessageDigest.Algorithm) async throws -> String
    ) async throws -> [UInt8] {
        try Credential.check(user + password)
        let function = challenge.algorithm.function
        func hash(_ parts: any Sequence<UInt8>...) throws -> String {
            let digest = try MessageDigest(function)
            try digest.update(Array(parts.map { Array($0) }.joined(separator: [.colon])))
            return try digest.finish()
        }
        let (realm, nonce) = (challenge.realmBytes, challenge.nonceBytes)
        var secret = try hash(user.utf8, realm, password.utf8)
        if challenge.algorithm.isSession { secret = try hash(secret.utf8, nonce, clientNonce.utf8) }
        var message = try hash(method.rawValue.utf8, target.utf8)
        if challenge.quality == .authInt {
            message = try hash(method.rawValue.utf8, target.utf8, try await bodyHash(function).utf8)
        }
        let response =
            if let quality = challenge.quality {
                try hash(
                    secret.utf8, nonce, countText.utf8, clientNonce.utf8, quality.rawValue.utf8, message.utf8)
            } else {
                try hash(secret.utf8, nonce, message.utf8)
            }
        let name = challenge.hashesUser ? try hash(user.utf8, realm) : user
        return try written(name: name, target: target, response: response)
    }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func written(name: String, target: String, response: String) throws -> [UInt8] {
        var parts = [userPart(name)]
        parts.append(quoted("realm", challenge.realmBytes))
        parts.append(quoted("nonce", challenge.nonceBytes))
        parts.append(quoted("uri", target.utf8))
        parts.append(quoted("response", response.utf8))
        if let algorithm = challenge.algorithmName { parts.append(Array("algorithm=\(algorithm)".utf8)) }
        if let opaque = challenge.opaqueBytes { parts.append(quoted("opaque", opaque)) }
        if let quality = challenge.quality {
            parts.append(Array("qop=\(quality.rawValue), nc=\(countText), cnonce=\"\(clientNonce)\"".utf8))
        }
        if challenge.hashesUser { parts.append(Array("userhash=true".utf8)) }
        return Array("Digest ".utf8) + parts.joined(separator: ", ".utf8)
    }

    /// The user parameter. A name beyond ASCII is written as in RFC 8187 if the server declares UTF-8.
    private func userPart(_ name: String) -> [UInt8] {
        guard challenge.isUTF8, name.utf8.contains(where: { $0 >= 0x80 }) else { return quoted("username", name.utf8) }
        var encoded = ""
        for byte in name.utf8 {
            if byte.isLetter || byte.isDigit {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return Array("username*=UTF-8''\(encoded)".utf8)
    }

    /// A parameter with its value in quotes.
    private func quoted(_ name: String, _ value: some Sequence<UInt8>) -> [UInt8] {
        var bytes = Array("\(name)=\"".utf8)
        for byte in value {
            if byte == .quote || byte == .backslash { bytes.append(.backslash) }
            bytes.append(byte)
        }
        return bytes + [.quote]
    }
}
