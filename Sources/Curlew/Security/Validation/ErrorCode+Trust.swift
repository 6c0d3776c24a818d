extension ErrorCode {
    /// Codes of a server that is not trusted, or with which no TLS comes about: to ask it again changes nothing.
    static let ofTrust: Set<ErrorCode> = [
        .untrustedCertificate, .certificateExpired, .certificateNotYetValid, .hostNameMismatch, .unknownIssuer,
        .selfSignedCertificate, .certificateRevoked, .revocationUnknown, .stapledResponseInvalid, .pinMismatch,
        .weakCertificate, .unsuitableCertificate, .clientCertificateRequired, .clientCertificateRefused, .tlsMismatch,
        .plainTextOnTLSPort,
    ]
}
