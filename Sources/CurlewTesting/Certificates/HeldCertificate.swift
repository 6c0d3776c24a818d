#if TestKit
/// A certificate and its private key, made in memory.
///
/// A chain is made from the root down; each certificate names its issuer:
///
///     let root = try HeldCertificate(.authority("Test Root"))
///     let intermediate = try HeldCertificate(.authority("Test Intermediate", pathLength: 0), issuer: root)
///     let leaf = try HeldCertificate(.server("localhost"), issuer: intermediate)
///     let server = try await MockServer.start(.init(tls: ServerTLS([leaf, intermediate])))
///
/// The keys are for tests: they are never written anywhere unless you write them.
public struct HeldCertificate: Sendable, Hashable {
    /// The certificate, DER.
    public let certificateDER: [UInt8]
    /// The certificate, PEM.
    public let certificatePEM: String
    /// The private key, DER (PKCS #8, not encrypted; RFC 5958).
    public let privateKeyDER: [UInt8]
    /// The private key, PEM (PKCS #8, not encrypted).
    public let privateKeyPEM: String
    /// The subject's common name.
    public let commonName: String

    /// Makes a key and a certificate for it, signed by `issuer`'s key, or by its own when `issuer` is `nil`.
    ///
    /// - Parameters:
    ///   - options: What it says.
    ///   - issuer: Who signs it.
    ///   - holder: Whose key it is for, instead of one of its own: two issuers may so vouch for one authority, if both
    ///     certificates have one name.
    /// - Throws: ``TestKitError`` when OpenSSL refuses what `options` ask for.
    public init(
        _ options: Options = Options(),
        issuer: HeldCertificate? = nil,
        keyOf holder: HeldCertificate? = nil
    ) throws {
        let issued = try IssuedCertificate.issue(options, issuer: issuer, keyOf: holder)
        self.init(
            certificateDER: issued.certificateDER,
            privateKeyDER: issued.privateKeyDER,
            commonName: options.commonName
        )
    }

    init(certificateDER: [UInt8], privateKeyDER: [UInt8], commonName: String) {
        self.certificateDER = certificateDER
        self.certificatePEM = PEM.encode(certificateDER, label: "CERTIFICATE")
        self.privateKeyDER = privateKeyDER
        self.privateKeyPEM = PEM.encode(privateKeyDER, label: "PRIVATE KEY")
        self.commonName = commonName
    }

    /// Certificates one after another in PEM, as a CA file or a server's chain file holds them.
    public static func bundlePEM(_ certificates: [HeldCertificate]) -> String {
        certificates.map(\.certificatePEM).joined()
    }
}
#endif
