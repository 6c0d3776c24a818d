#if TestKit
// Certificates that most tests need, and certificates that are wrong on purpose.
extension HeldCertificate {
    /// The names of a loopback server: `localhost`, `127.0.0.1` and `::1`.
    public static let loopbackNames: [AlternativeName] = [.dns("localhost"), .ip("127.0.0.1"), .ip("::1")]

    /// A new self-signed root.
    public static func root(_ commonName: String = "Curlew Test Root") throws -> HeldCertificate {
        try HeldCertificate(.authority(commonName))
    }

    /// A valid certificate for a loopback server; self-signed when `issuer` is `nil`.
    public static func localhost(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames), issuer: issuer)
    }

    /// A certificate for a loopback server that expired an hour ago.
    public static func expired(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames, validity: .expired), issuer: issuer)
    }

    /// A certificate for a loopback server that becomes valid tomorrow.
    public static func notYetValid(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(Options(alternativeNames: self.loopbackNames, validity: .notYetValid), issuer: issuer)
    }

    /// A valid certificate, but only for `wrong.example.test`.
    public static func wrongName(issuedBy issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(.server("wrong.example.test"), issuer: issuer)
    }

    /// A self-signed certificate for a loopback server.
    public static func selfSigned() throws -> HeldCertificate {
        try self.localhost()
    }

    /// A certificate for a loopback server with one flipped bit in the issuer's signature.
    public static func brokenSignature(issuedBy issuer: HeldCertificate) throws -> HeldCertificate {
        try self.localhost(issuedBy: issuer).withBrokenSignature()
    }

    /// The same certificate with one flipped bit in its signature.
    public func withBrokenSignature() -> HeldCertificate {
        var bytes = self.certificateDER
        // The signature is the last field of a certificate (RFC 5280, section 4.1), so its value is at the end.
        if let last = bytes.indices.last { bytes[last] ^= 1 }
        return HeldCertificate(certificateDER: bytes, privateKeyDER: self.privateKeyDER, commonName: self.commonName)
    }
}
#endif
