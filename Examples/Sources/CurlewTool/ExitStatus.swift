import Curlew

/// The exit status for each kind of failure, in the manner of sysexits.
enum ExitStatus {
    static func status(for code: ErrorCode) -> Int32 {
        switch code {
        case .invalidURL, .unsupportedScheme, .invalidRequest: 64
        case .hostNotFound, .proxyNotFound: 68
        case .connectionRefused, .connectionFailed, .proxyFailed: 69
        case .connectionWaitTimeout, .connectTimeout, .headTimeout, .idleTimeout, .totalTimeout: 75
        case .invalidResponse, .responseTruncated, .responseHeadTooLarge, .http2Failed, .connectionLost: 76
        case .untrustedCertificate, .tlsHandshakeFailed, .certificateExpired, .certificateNotYetValid,
            .hostNameMismatch,
            .unknownIssuer, .selfSignedCertificate, .certificateRevoked, .revocationUnknown, .stapledResponseInvalid,
            .pinMismatch, .weakCertificate, .unsuitableCertificate, .clientCertificateRequired,
            .clientCertificateRefused, .tlsMismatch, .plainTextOnTLSPort:
            77
        case .unacceptableStatus: 22
        default: 1
        }
    }
}
