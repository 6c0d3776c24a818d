import COpenSSL
import CurlewTesting
import Testing

@testable import CurlewCore

/// Certificates in an OpenSSL stack, as in a handshake.
final class CertificateStack {
    let raw: OpaquePointer

    init(_ certificates: [CertificateHandle]) throws {
        raw = try #require(curlew_certificates_new())
        for certificate in certificates {
            #expect(withExtendedLifetime(certificate) { curlew_certificates_push(raw, certificate.raw) } == 1)
        }
    }

    convenience init(_ certificates: [HeldCertificate]) throws {
        try self.init(certificates.map { try CertificateHandle($0) })
    }

    deinit { curlew_certificates_free(raw) }
}

extension CertificateHandle {
    convenience init(_ held: HeldCertificate) throws { try self.init(der: held.certificateDER) }
}
