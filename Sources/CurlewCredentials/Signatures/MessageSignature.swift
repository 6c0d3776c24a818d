internal import Curlew
public import FoundationEssentials

/// Signatures of HTTP messages (RFC 9421): the components that they cover, their parameters, and their algorithms.
///
/// ``MessageSignature/Signer`` signs requests, and ``MessageSignature/Verifier`` verifies responses.
public enum MessageSignature {
    /// An algorithm by its name in the registry of RFC 9421 §6.2.
    public struct Algorithm: Sendable, Hashable, CustomStringConvertible {
        let scheme: SignatureScheme

        /// RSASSA-PSS with SHA-512, for RSA keys.
        public static let rsaPSSSHA512 = Algorithm(scheme: .rsaPSSSHA512)
        /// RSASSA-PKCS1-v1_5 with SHA-256, for RSA keys. Prefer ``rsaPSSSHA512``.
        public static let rsaPKCS1SHA256 = Algorithm(scheme: .rsaSHA256)
        /// HMAC with SHA-256, for shared secrets.
        public static let hmacSHA256 = Algorithm(scheme: .hmacSHA256)
        /// ECDSA with SHA-256, for keys of P-256.
        public static let ecdsaP256SHA256 = Algorithm(scheme: .ecdsaP256SHA256)
        /// ECDSA with SHA-384, for keys of P-384.
        public static let ecdsaP384SHA384 = Algorithm(scheme: .ecdsaP384SHA384)
        /// EdDSA, for Ed25519 keys.
        public static let ed25519 = Algorithm(scheme: .ed25519)

        init(scheme: SignatureScheme) { self.scheme = scheme }

        /// - Returns: nil for an unknown name.
        init?(name: String) {
            guard let scheme = SignatureScheme(rawValue: name) else { return nil }
            self.init(scheme: scheme)
        }

        /// The name in the parameter `alg`: `ecdsa-p256-sha256`.
        public var name: String { scheme.rawValue }

        public var description: String { name }
    }

    /// The parameters of a signature, which the signature covers too (RFC 9421 §2.3).
    public struct Parameters: Sendable, Hashable {
        /// The time at which the signature was made, in whole seconds.
        public var created: Date?
        /// The time at which the signature expires, in whole seconds.
        public var expires: Date?
        /// A value that is used once.
        public var nonce: String?
        /// The name of the algorithm.
        public var algorithm: String?
        /// The name of the key.
        public var keyID: String?
        /// The name of the application that the signature is for.
        public var tag: String?

        /// - Parameters:
        ///   - created: The time at which the signature was made.
        ///   - expires: The time at which the signature expires.
        ///   - nonce: A value that is used once, in printable ASCII.
        ///   - algorithm: The name of the algorithm.
        ///   - keyID: The name of the key, in printable ASCII.
        ///   - tag: The name of the application, in printable ASCII.
        public init(
            created: Date? = nil, expires: Date? = nil, nonce: String? = nil, algorithm: String? = nil,
            keyID: String? = nil, tag: String? = nil
        ) {
            self.created = created
            self.expires = expires
            self.nonce = nonce
            self.algorithm = algorithm
            self.keyID = keyID
            self.tag = tag
        }
    }
}

extension MessageSignature.Parameters {
    /// The parameters in the order of the field.
    ///
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for text that is not printable ASCII.
    func structured() throws(CurlewError) -> [StructuredField.Parameter] {
        for text in [nonce, algorithm, keyID, tag] where text?.isPrintableASCII == false {
            throw CurlewError(.invalidRequest, "a parameter of a signature has a character beyond printable ASCII")
        }
        let time = { (date: Date) in StructuredField.BareItem.integer(CalendarTime.wholeSeconds(of: date)) }
        let values: [(String, StructuredField.BareItem?)] = [
            ("created", created.map(time)), ("keyid", keyID.map { .string($0) }),
            ("alg", algorithm.map { .string($0) }),
            ("expires", expires.map(time)), ("nonce", nonce.map { .string($0) }), ("tag", tag.map { .string($0) }),
        ]
        return values.compactMap { key, value in value.map { StructuredField.Parameter(key: key, value: $0) } }
    }

    /// - Returns: nil if a known parameter has a wrong type. Unknown parameters are ignored.
    init?(_ parameters: [StructuredField.Parameter]) {
        self.init()
        for parameter in parameters {
            switch (parameter.key, parameter.value) {
            case ("created", .integer(let seconds)): created = Date(timeIntervalSince1970: Double(seconds))
            case ("expires", .integer(let seconds)): expires = Date(timeIntervalSince1970: Double(seconds))
            case ("nonce", .string(let text)): nonce = text
            case ("alg", .string(let text)): algorithm = text
            case ("keyid", .string(let text)): keyID = text
            case ("tag", .string(let text)): tag = text
            case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _): return nil
            default: continue
            }
        }
    }
}
