#if TestKit
// The certificates that most tests want, and those that are wrong on purpose.
extension HeldCertificate {
    /// The names a loopback server is reached by: `localhost`, `127.0.0.1` and `::1`.
    public static let loopbackNames: [AlternativeName] = [.dns("localhost"), .ip("127.0.0.1"), .ip("::1")]

    /// A root of its own making.
    public static func root(_ commonName: String = "Curlew Test Root") throws -> HeldCertificate {
        try HeldCertificate(.authority(commonName))
    }

    /// A good certificate for a loopback server; self-signed when `issuer` is `nil`.
    public static func localhost(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames), issuer: issuer)
    }

    /// For a loopback server, and over since an hour ago.
    public static func expired(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames, validity: .expired), issuer: issuer)
    }

    /// For a loopback server, from tomorrow on.
    public static func notYetValid(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames, validity: .notYetValid), issuer: issuer)
    }

    /// Good, but for `wrong.example.test` only.
    public static func wrongName(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(.server("wrong.example.test"), issuer: issuer)
    }

    /// For a loopback server, signed by nobody but itself.
    public static func selfSigned() throws -> HeldCertificate {
        try self.localhost()
    }

    /// For a loopback server, with one bit of the issuer's signature turned over.
    public static func brokenSignature(issuedBy issuer: HeldCertificate) throws -> HeldCertificate {
        try self.localhost(issuedBy: issuer).withBrokenSignature()
    }

    /// The same certificate with one bit of its signature turned over.
    public func withBrokenSignature() -> HeldCertificate {
        var bytes = self.certificateDER
        // The signature is the last field of a certificate (RFC 5280, section 4.1), its value the last bytes.
        if let last = bytes.indices.last { bytes[last] ^= 1 }
        return HeldCertificate(certificateDER: bytes, privateKeyDER: self.privateKeyDER, commonName: self.commonName)
    }
}
#endif
