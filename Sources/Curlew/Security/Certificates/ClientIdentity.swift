internal import COpenSSL

/// The certificate and key by which a client shows who it is.
///
/// The key is in memory only. It is in no description, and the identity cannot be encoded.
public struct ClientIdentity: Sendable, Hashable {
    /// The certificate, and those that lead towards an authority, in that order.
    public let chain: [Certificate]
    /// PKCS #8, DER.
    let key: [UInt8]

    /// Reads a chain and its key in PEM; both may be in one text.
    /// - Parameters:
    ///   - certificates: The certificate, then its intermediates.
    ///   - key: The key; nil looks for it among the certificates.
    ///   - passphrase: What the key is encrypted with.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for what cannot be read, a wrong passphrase, or a key
    ///   that is not the certificate's.
    public init(pem certificates: String, key: String? = nil, passphrase: String? = nil) throws {
        let chain = try Certificate.all(inPEM: certificates)
        try self.init(chain: chain, key: KeyReading.pem(Array((key ?? certificates).utf8), passphrase: passphrase))
    }

    /// Takes a chain and its key in DER: PKCS #8, encrypted or not, or the older forms of RSA and EC keys.
    /// - Throws: As ``init(pem:key:passphrase:)``.
    public init(chain: [Certificate], keyDER: [UInt8], passphrase: String? = nil) throws {
        try self.init(chain: chain, key: KeyReading.der(keyDER, passphrase: passphrase))
    }

    /// Reads PKCS #12 (`.p12`, `.pfx`).
    /// - Throws: As ``init(pem:key:passphrase:)``.
    public init(pkcs12 bytes: [UInt8], passphrase: String = "") throws {
        let (chain, key) = try PKCS12Reading.read(bytes, passphrase: passphrase)
        try self.init(chain: chain, key: key)
    }

    private init(chain: [Certificate], key: KeyHandle) throws {
        guard let leaf = chain.first else { throw CurlewError(.invalidTLSSetting, "an identity has no certificate") }
        let handle = try leaf.handle()
        guard X509_check_private_key(handle.raw, key.raw) == 1 else {
            throw OpenSSLFailure.error("the key is not the certificate's")
        }
        self.chain = chain
        self.key = try KeyReading.encode(key)
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "identity of \(chain.first.map { "\($0)" } ?? "nobody")" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["chain": chain]) }
}

/// A key is not written where a configuration goes.
extension ClientIdentity: Codable {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "a client identity cannot be decoded"))
    }

    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            description, .init(codingPath: encoder.codingPath, debugDescription: "a client identity cannot be encoded"))
    }
}
