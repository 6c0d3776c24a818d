public import Curlew

/// A key for signing: a private key of RSA, P-256, P-384 or Ed25519, or a shared secret.
///
/// Descriptions do not contain the key, and it cannot be encoded.
public struct SigningKey: Sendable {
    private enum Material {
        case key(KeyMaterial)
        case secret(SecretBytes)
    }

    private let material: Material

    /// Reads a private key in PEM: PKCS #8, encrypted or not, or the older forms of RSA and EC keys.
    /// - Parameters:
    ///   - pem: The text, at most 64 KiB.
    ///   - passphrase: The passphrase of an encrypted key.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for text without a private key, a
    ///   wrong passphrase, a key of another kind, or an RSA key shorter than 2048 bits.
    public init(pem: String, passphrase: String? = nil) throws(CurlewError) {
        material = .key(try KeyMaterial.privateKey(pem: pem, passphrase: passphrase))
    }

    /// Makes a key from a shared secret for HMAC, of at least 16 bytes.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a shorter secret.
    public init(sharedSecret: [UInt8]) throws(CurlewError) {
        material = .secret(try Self.checked(sharedSecret))
    }

    static func checked(_ secret: [UInt8]) throws(CurlewError) -> SecretBytes {
        guard secret.count >= 16 else {
            throw CurlewError(.invalidCredential, "a shared secret has \(secret.count) bytes; at least 16 are required")
        }
        return SecretBytes(secret)
    }

    /// The key that verifies the signatures of this key.
    public var verificationKey: VerificationKey {
        get throws(CurlewError) {
            switch material {
            case .secret(let secret): VerificationKey(secret)
            case .key(let key): try VerificationKey(der: key.publicDER())
            }
        }
    }

    /// The schemes of the key; the default one comes first.
    var schemes: [SignatureScheme] {
        switch material {
        case .secret: [.hmacSHA256]
        case .key(let key): SignatureScheme.schemes(of: key.kind)
        }
    }

    /// The kind of key in words.
    var kindText: String {
        switch material {
        case .secret: "a shared secret"
        case .key(let key): KeyText.text(key.kind)
        }
    }

    func sign(_ message: [UInt8], by scheme: SignatureScheme) throws(CurlewError) -> [UInt8] {
        guard schemes.contains(scheme) else {
            throw CurlewError(.invalidCredential, "\(kindText) cannot sign by \(scheme.rawValue)")
        }
        switch material {
        case .secret(let secret):
            return try secret.withBytes { (key) throws(CurlewError) in try Hashing.hmacSHA256(message, key: key) }
        case .key(let key): return try scheme.sign(message, with: key)
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "signing key: \(kindText)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": kindText]) }
}

/// A key for verifying signatures: a public key of RSA, P-256, P-384 or Ed25519, or a shared secret.
public struct VerificationKey: Sendable {
    private enum Material {
        case key(KeyMaterial)
        case secret(SecretBytes)
    }

    private let material: Material

    /// Reads a public key in PEM (`BEGIN PUBLIC KEY`).
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential``, for the reasons of
    ///   ``SigningKey/init(pem:passphrase:)``.
    public init(pem: String) throws(CurlewError) { material = .key(try KeyMaterial.publicKey(pem: pem)) }

    /// Makes a key from a shared secret for HMAC, of at least 16 bytes.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a shorter secret.
    public init(sharedSecret: [UInt8]) throws(CurlewError) {
        material = .secret(try SigningKey.checked(sharedSecret))
    }

    fileprivate init(_ secret: SecretBytes) { material = .secret(secret) }

    init(der: [UInt8]) throws(CurlewError) { material = .key(try KeyMaterial.publicKey(der: der)) }

    var schemes: [SignatureScheme] {
        switch material {
        case .secret: [.hmacSHA256]
        case .key(let key): SignatureScheme.schemes(of: key.kind)
        }
    }

    var kindText: String {
        switch material {
        case .secret: "a shared secret"
        case .key(let key): KeyText.text(key.kind)
        }
    }

    /// True if the signature matches the message. The key must support the scheme.
    func verify(
        _ signature: [UInt8], of message: [UInt8], by scheme: SignatureScheme
    ) throws(CurlewError) -> Bool {
        guard schemes.contains(scheme) else { return false }
        switch material {
        case .secret(let secret):
            return try secret.withBytes { (key) throws(CurlewError) in
                try Hashing.hmacSHA256(message, key: key).isSameInConstantTime(as: signature)
            }
        case .key(let key): return try scheme.verify(signature, of: message, with: key)
        }
    }
}

extension VerificationKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "verification key: \(kindText)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": kindText]) }
}

/// The kinds of keys in words.
private enum KeyText {
    static func text(_ kind: KeyMaterial.Kind) -> String {
        switch kind {
        case .rsa(let bits): "an RSA key of \(bits) bits"
        case .rsaPSS(let bits): "an RSA-PSS key of \(bits) bits"
        case .p256: "a key of the curve P-256"
        case .p384: "a key of the curve P-384"
        case .ed25519: "an Ed25519 key"
        }
    }
}
