import COpenSSL
import CurlewTesting
import Testing

@testable import CurlewCore

/// Certificates in an OpenSSL stack, as in a handshake.
final class CertificateStack {
    let raw: OpaquePointer

    init(_ certificates: [HeldCertificate]) throws {
        raw = try #require(curlew_certificates_new())
        for held in certificates {
            let handle = try CertificateHandle(held)
            #expect(withExtendedLifetime(handle) { curlew_certificates_push(raw, handle.raw) } == 1)
        }
    }

    deinit { curlew_certificates_free(raw) }
}

extension CertificateHandle {
    convenience init(_ held: HeldCertificate) throws { try self.init(der: held.certificateDER) }
}
