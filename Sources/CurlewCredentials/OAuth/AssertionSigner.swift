internal import Curlew
internal import FoundationEssentials

/// A signer of the assertions with which a client authenticates (RFC 7523 §3): JSON Web Tokens by RS256 or ES256 (RFC
/// 7515, RFC 7518).
struct AssertionSigner: Sendable {
    /// The validity of an assertion in seconds. It is used immediately, so a short time suffices; clocks may differ
    /// slightly.
    static let lifetime: Int64 = 300

    private let key: SigningKey
    private let keyID: String?
    private let audience: String?
    private let algorithm: String
    private let scheme: SignatureScheme

    init(_ key: SigningKey, keyID: String?, audience: String?) throws(CurlewError) {
        if key.schemes.contains(.rsaSHA256) {
            (algorithm, scheme) = ("RS256", .rsaSHA256)
        } else if key.schemes.contains(.ecdsaP256SHA256) {
            (algorithm, scheme) = ("ES256", .ecdsaP256SHA256)
        } else {
            throw CurlewError(
                .invalidCredential, "private_key_jwt takes an RSA key or one of the curve P-256, not \(key.kindText)")
        }
        self.key = key
        self.keyID = keyID
        self.audience = audience
    }

    func assertion(
        client: String, endpoint: String, at moment: Date, using generator: inout some RandomNumberGenerator
    ) throws(CurlewError) -> String {
        let now = CalendarTime.wholeSeconds(of: moment)
        let identifier = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }.hexadecimal
        var header = "{\"typ\":\"JWT\",\"alg\":\"\(algorithm)\""
        if let keyID { header += ",\"kid\":\(JSONText.quoted(keyID))" }
        header += "}"
        let claims = """
            {"iss":\(JSONText.quoted(client)),"sub":\(JSONText.quoted(client)),\
            "aud":\(JSONText.quoted(audience ?? endpoint)),"jti":"\(identifier)",\
            "iat":\(now),"exp":\(now + Self.lifetime)}
            """
        let signed = "\(Base64.encodeForURL(Array(header.utf8))).\(Base64.encodeForURL(Array(claims.utf8)))"
        let signature = try key.sign(Array(signed.utf8), by: scheme)
        return "\(signed).\(Base64.encodeForURL(signature))"
    }
}

/// The encoding of strings in JSON.
enum JSONText {
    static func quoted(_ text: String) -> String {
        var quoted = String.UnicodeScalarView()
        quoted.append("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted.append(contentsOf: "\\\"".unicodeScalars)
            case "\\": quoted.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\r": quoted.append(contentsOf: "\\r".unicodeScalars)
            case "\t": quoted.append(contentsOf: "\\t".unicodeScalars)
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted.append(contentsOf: "\\u00\(digits.utf8.count < 2 ? "0" : "")\(digits)".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("\"")
        return String(quoted)
    }
}
