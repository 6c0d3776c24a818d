internal import COpenSSL

/// An X.509 certificate (RFC 5280): its DER bytes, known to be readable.
public struct Certificate: Sendable, Hashable {
    /// Most bytes that a certificate may have: 256 KiB.
    public static let sizeLimit: ByteCount = .kibibytes(256)

    /// The certificate, DER.
    public let der: [UInt8]

    /// Reads one certificate in DER, to its last byte.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for anything else.
    public init(der: [UInt8]) throws {
        _ = try CertificateHandle(der: der)
        self.der = der
    }

    /// Reads one certificate in PEM.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` if there is none, more than one, or a broken one.
    public init(pem: String) throws {
        let all = try Certificate.all(inPEM: pem)
        guard all.count == 1 else {
            throw CurlewError(.invalidTLSSetting, "\(all.count) certificates where one was expected")
        }
        self = all[0]
    }

    /// The certificates of a PEM text, in order; what else it holds is passed over.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a broken one.
    public static func all(inPEM pem: String) throws -> [Certificate] {
        try PEMText.blocks(in: Array(pem.utf8), labels: PEMText.certificateLabels).map { try Certificate(der: $0) }
    }

    /// The certificate of a chain that OpenSSL has read.
    init?(_ handle: CertificateHandle) {
        guard let der = handle.der else { return nil }
        self.der = der
    }

    func handle() throws -> CertificateHandle { try CertificateHandle(der: der) }

    /// What it says, for people to read and for evaluators.
    /// - Throws: ``CurlewError`` if OpenSSL has no memory for it.
    public func details() throws -> CertificateDetails { try CertificateDetails(handle()) }

    func publicKeyPin() throws -> PublicKeyPin {
        guard let pin = try handle().pin else { throw OpenSSLFailure.error("a certificate's key cannot be read") }
        return pin
    }
}

extension Certificate: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(der: decoder.singleValueContainer().decode([UInt8].self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(der)
    }
}

extension Certificate: CustomStringConvertible {
    /// The subject.
    public var description: String { (try? details().subject) ?? "a certificate of \(der.count) bytes" }
}
