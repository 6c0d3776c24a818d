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
/// The keys are for tests. They stay in memory unless you write them somewhere.
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

    /// Makes a key and a certificate for it, signed by `issuer`'s key, or by its own key when `issuer` is `nil`.
    ///
    /// - Parameters:
    ///   - options: The contents of the certificate.
    ///   - issuer: The certificate that signs the new one.
    ///   - holder: A certificate whose key the new one uses, instead of a new key. Two issuers can thus certify one
    ///     authority, if both certificates have the same name.
    /// - Throws: ``TestKitError`` when OpenSSL rejects `options`.
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

    /// Concatenated certificates in PEM, as in a CA file or a server's chain file.
    public static func bundlePEM(_ certificates: [HeldCertificate]) -> String {
        certificates.map(\.certificatePEM).joined()
    }
}
#endif
