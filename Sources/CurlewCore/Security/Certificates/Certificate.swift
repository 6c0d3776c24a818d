internal import COpenSSL
public import FoundationEssentials

/// An X.509 certificate (RFC 5280): its DER bytes, which were parsed successfully.
public struct CurlewCertificate: Sendable, Hashable {
    /// The limit on the size of a certificate: 256 KiB.
    public static let sizeLimit: ByteSize = .kibibytes(256)

    /// The DER encoding.
    public let der: [UInt8]

    /// Reads one certificate in DER; no bytes may follow it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for invalid bytes.
    public init(der: [UInt8]) throws {
        _ = try CertificateHandle(der: der)
        self.der = der
    }

    /// Reads one certificate in PEM.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` unless the text has exactly one valid
    ///   certificate.
    public init(pem: String) throws {
        let all = try CurlewCertificate.all(inPEM: pem)
        guard all.count == 1 else {
            throw CurlewError(.invalidTLSSetting, "\(all.count) certificates where one was expected")
        }
        self = all[0]
    }

    /// The certificates of a PEM text, in order; other text is skipped.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for an invalid certificate.
    public static func all(inPEM pem: String) throws -> [CurlewCertificate] {
        try PEMText.blocks(in: Array(pem.utf8), labels: PEMText.certificateLabels).map {
            try CurlewCertificate(der: $0)
        }
    }

    /// Creates a certificate from a chain that OpenSSL has read.
    init?(_ handle: CertificateHandle) {
        guard let der = handle.der else { return nil }
        self.der = der
    }

    func handle() throws -> CertificateHandle { try CertificateHandle(der: der) }

    /// The contents, for display and for evaluators.
    /// - Throws: ``CurlewError`` if OpenSSL has no memory for it.
    public func details() throws -> CurlewCertificate.Details { try CurlewCertificate.Details(handle()) }

    func publicKeyPin() throws -> SecurityPolicy.Pin {
        guard let pin = try handle().pin else { throw OpenSSLFailure.error("a certificate's key cannot be read") }
        return pin
    }
}

extension CurlewCertificate: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(der: decoder.singleValueContainer().decode([UInt8].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(der)
    }
}

extension CurlewCertificate: CustomStringConvertible {
    /// The subject.
    public var description: String { (try? details().subject) ?? "a certificate of \(der.count) bytes" }
}

extension CurlewCertificate {
    /// The readable contents of a certificate. Names come from the peer: they may contain any characters but control
    /// characters.
    public struct Details: Sendable, Hashable {
        /// The subject's distinguished name (RFC 2253).
        public let subject: String
        /// The issuer's distinguished name.
        public let issuer: String
        /// The names for which the certificate is valid: `DNS:example.com`, `IP:192.0.2.1`, `email:…`, `URI:…`. Other
        /// kinds are skipped.
        public let alternativeNames: [String]
        /// The beginning of the validity; nil for an unreadable time.
        public let notBefore: Date?
        /// The end of the validity; nil for an unreadable time.
        public let notAfter: Date?
        /// The type and size of the key: `RSA 2048`, `EC P-256`, `ED25519`.
        public let key: String
        /// The algorithm of the issuer's signature: `RSA-SHA256`, `ecdsa-with-SHA256`.
        public let signature: String
        /// The serial number in hexadecimal.
        public let serialNumber: String
        /// True if the certificate may issue other certificates.
        public let isAuthority: Bool
        /// The pin of the key.
        public let publicKeyPin: SecurityPolicy.Pin?

        init(_ handle: CertificateHandle) throws {
            let raw = handle.raw
            subject = try Self.text(X509_get_subject_name(raw))
            issuer = try Self.text(X509_get_issuer_name(raw))
            alternativeNames = AlternativeNames(handle)?.descriptions ?? []
            notBefore = Self.date(X509_get0_notBefore(raw))
            notAfter = Self.date(X509_get0_notAfter(raw))
            key = KeyStrength.describe(X509_get0_pubkey(raw))
            signature = OBJ_nid2ln(X509_get_signature_nid(raw)).map { String(cString: $0) } ?? "unknown"
            serialNumber = Self.serial(raw)
            isAuthority = X509_check_ca(raw) == 1
            publicKeyPin = handle.pin
            ERR_clear_error()
        }

        private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
            CertificateTime.seconds(time).map { Date(timeIntervalSince1970: Double($0)) }
        }

        private static func text(_ name: OpaquePointer?) throws -> String {
            guard let name, let sink = BIO_new(BIO_s_mem()) else {
                throw CurlewError(.resourcesExhausted, "no memory to read a certificate")
            }
            defer { BIO_free(sink) }
            guard curlew_print_name(sink, name) == 1 else { return "" }
            var bytes = [UInt8](repeating: 0, count: min(BIO_ctrl_pending(sink), 4096))
            let count = BIO_read(sink, &bytes, Int32(bytes.count))
            return printable(String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self))
        }

        private static func serial(_ raw: OpaquePointer) -> String {
            guard let number = X509_get0_serialNumber(raw), let big = ASN1_INTEGER_to_BN(number, nil) else { return "" }
            defer { BN_free(big) }
            guard let text = BN_bn2hex(big) else { return "" }
            defer { CRYPTO_free(text, #file, #line) }
            return String(cString: text)
        }

        /// Replaces control characters.
        static func printable(_ text: String) -> String {
            String(
                String.UnicodeScalarView(
                    text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "\u{FFFD}" : $0 }))
        }
    }
}
