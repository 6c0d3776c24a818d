internal import HTTPTypes

// Every class of failures that decides what happens next, in one place.
extension ErrorCode {
    /// True if ``Retry`` sends a request again after this failure, if the request allows it. The table "Which failures
    /// are tried again" in the documentation has the reason for each code.
    var isTransient: Bool { Self.transient.contains(self) }

    /// True if the server is not trusted, or TLS with it fails: asking it again changes nothing.
    var isTrustFailure: Bool { Self.trustFailures.contains(self) }

    /// True if a lack of network may be the reason.
    var isConnectFailure: Bool { Self.connectFailures.contains(self) }

    /// True if the same request can never succeed: it cannot be sent as it stands, is refused, or nobody wants it any
    /// more.
    var isPermanent: Bool { isTrustFailure || Self.permanent.contains(self) }

    /// True if bytes that have been received are of no use.
    var isCorruption: Bool { Self.corruption.contains(self) }

    private static let transient: Set<ErrorCode> = [
        .hostNotFound, .proxyNotFound, .connectionRefused, .connectionFailed, .connectionLost, .tlsHandshakeFailed,
        .connectionWaitTimeout, .connectTimeout, .headTimeout, .idleTimeout, .http2Failed,
    ]

    private static let connectFailures: Set<ErrorCode> = [
        .hostNotFound, .proxyNotFound, .connectionFailed, .connectTimeout, .proxyFailed,
    ]

    private static let trustFailures: Set<ErrorCode> = [
        .untrustedCertificate, .certificateExpired, .certificateNotYetValid, .hostNameMismatch, .unknownIssuer,
        .selfSignedCertificate, .certificateRevoked, .revocationUnknown, .stapledResponseInvalid, .pinMismatch,
        .weakCertificate, .unsuitableCertificate, .clientCertificateRequired, .clientCertificateRefused, .tlsMismatch,
        .plainTextOnTLSPort,
    ]

    private static let permanent: Set<ErrorCode> = [
        .unacceptableStatus, .unacceptableContentType, .invalidURL, .unsupportedScheme, .invalidRequest, .unsupported,
        .encodingFailed, .bodyNotReplayable, .bodyLengthMismatch, .bodyFailed, .invalidTLSSetting, .sessionInvalidated,
        .cancelled,
    ]

    private static let corruption: Set<ErrorCode> = [.digestMismatch, .lengthMismatch]
}

extension HTTPResponse.Status {
    /// The statuses that may pass: 408, 429, 500, 502, 503 and 504.
    static let transient: Set<HTTPResponse.Status> = [
        .requestTimeout, .tooManyRequests, .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]
}
