internal import HTTPTypes

/// The credentials of one request for Digest (RFC 7616 §3.4).
struct DigestAnswer {
    let challenge: DigestChallenge
    let user: String
    let password: String
    /// How often the nonce has been used, this time included.
    let count: UInt32
    /// The nonce of ours.
    let clientNonce: String

    /// The value of Authorization.
    /// - Parameters:
    ///   - target: The request's target as it is sent.
    ///   - bodyHash: Hashes the body; called if the digest is over it.
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

    /// A name beyond ASCII is written as RFC 8187 has it, if the server says that it reads UTF-8.
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

    private func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
