internal import COpenSSL

/// The reason why a peer is not trusted.
struct TrustFailure: Sendable, Hashable {
    var code: ErrorCode
    /// The reason in words; it begins with the certificate's subject if a certificate is at fault.
    var reason: String

    init(_ code: ErrorCode, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Creates the failure that OpenSSL's path validation found.
    init(verifyError: Int32, subject: String, notBefore: Int64?, notAfter: Int64?) {
        let words = X509_verify_cert_error_string(Int(verifyError)).map { String(cString: $0) } ?? "\(verifyError)"
        code = Self.code(for: verifyError)
        switch code {
        case .certificateExpired:
            reason =
                "the certificate of \(subject) expired" + (notAfter.map { " at \(CertificateTime.describe($0))" } ?? "")
        case .certificateNotYetValid:
            reason =
                "the certificate of \(subject) is not yet valid"
                + (notBefore.map { "; it will be from \(CertificateTime.describe($0))" } ?? "")
        case .selfSignedCertificate: reason = "the certificate of \(subject) is self-signed"
        case .unknownIssuer: reason = "the certificate of \(subject) was not issued by a trusted authority: \(words)"
        case .certificateRevoked: reason = "the certificate of \(subject) was revoked"
        default: reason = "the certificate of \(subject) cannot be accepted: \(words)"
        }
    }

    private static func code(for error: Int32) -> ErrorCode {
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD: .certificateExpired
        case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD: .certificateNotYetValid
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSignedCertificate
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_CERT_UNTRUSTED:
            .unknownIssuer
        case X509_V_ERR_CERT_REVOKED: .certificateRevoked
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE, X509_V_ERR_CRL_SIGNATURE_FAILURE,
            X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD,
            X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER,
            X509_V_ERR_KEYUSAGE_NO_CRL_SIGN, X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION,
            X509_V_ERR_DIFFERENT_CRL_SCOPE, X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
            .revocationUnknown
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .weakCertificate
        case X509_V_ERR_OUT_OF_MEM: .resourcesExhausted
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE,
            X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, X509_V_ERR_UNSPECIFIED:
            .untrustedCertificate
        default: .unsuitableCertificate
        }
    }
}
