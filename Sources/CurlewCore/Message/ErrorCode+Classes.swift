internal import HTTPTypes

// All classes of failures that decide about further steps.
extension ErrorCode {
    /// True if a time limit was exceeded: ``connectionWaitTimeout``, ``connectTimeout``, ``headTimeout``,
    /// ``idleTimeout`` and ``totalTimeout``.
    public var isTimeout: Bool { Self.timeouts.contains(self) }

    /// True if the cause may be temporary. ``Retry`` sends a suitable request again after these codes:
    /// ``hostNotFound``, ``proxyNotFound``, ``connectionRefused``, ``connectionFailed``, ``connectionLost``,
    /// ``tlsHandshakeFailed``, ``connectionWaitTimeout``, ``connectTimeout``, ``headTimeout``, ``idleTimeout`` and
    /// ``http2Failed``.
    ///
    /// The table "Which failures are tried again" in <doc:HTTPBehaviour> has the reason for each code.
    public var isTransient: Bool { Self.transient.contains(self) }

    /// True if there was no connection to send the request over: ``hostNotFound``, ``proxyNotFound``,
    /// ``connectionRefused``, ``connectionFailed``, ``connectTimeout``, ``proxyFailed`` and ``tlsHandshakeFailed``. An
    /// untrusted server belongs to ``isTrustFailure``.
    public var isConnectFailure: Bool { Self.connectFailures.contains(self) }

    /// True if the server is not trusted, the server does not trust this client, or both cannot agree on TLS. A further
    /// attempt has the same result.
    ///
    /// The codes are ``untrustedCertificate``, ``certificateExpired``, ``certificateNotYetValid``,
    /// ``hostNameMismatch``, ``unknownIssuer``, ``selfSignedCertificate``, ``certificateRevoked``,
    /// ``revocationUnknown``, ``stapledResponseInvalid``, ``pinMismatch``, ``weakCertificate``,
    /// ``unsuitableCertificate``, ``clientCertificateRequired``, ``clientCertificateRefused``, ``tlsMismatch`` and
    /// ``plainTextOnTLSPort``.
    public var isTrustFailure: Bool { Self.trustFailures.contains(self) }

    /// True if a missing network may be the cause.
    package var mayLackNetwork: Bool { Self.networkFailures.contains(self) }

    /// True if the same request can never succeed: it cannot be sent in its form, is always refused, or is no longer
    /// wanted.
    var isPermanent: Bool { isTrustFailure || Self.permanent.contains(self) }

    /// True if the received bytes are unusable.
    package var isCorruption: Bool { Self.corruption.contains(self) }

    /// True if the failure concerns a file that is read or written.
    package var concernsFile: Bool { Self.fileFailures.contains(self) }

    private static let fileFailures: Set<ErrorCode> = [
        .bodyFailed, .bodyLengthMismatch, .diskFull, .digestMismatch, .fileExists, .fileFailed, .invalidDestination,
        .lengthMismatch, .partFileInUse,
    ]

    private static let transient: Set<ErrorCode> = [
        .hostNotFound, .proxyNotFound, .connectionRefused, .connectionFailed, .connectionLost, .tlsHandshakeFailed,
        .connectionWaitTimeout, .connectTimeout, .headTimeout, .idleTimeout, .http2Failed,
    ]

    private static let timeouts: Set<ErrorCode> = [
        .connectionWaitTimeout, .connectTimeout, .headTimeout, .idleTimeout, .totalTimeout,
    ]

    private static let networkFailures: Set<ErrorCode> = [
        .hostNotFound, .proxyNotFound, .connectionFailed, .connectTimeout, .proxyFailed,
    ]

    private static let connectFailures = networkFailures.union([.connectionRefused, .tlsHandshakeFailed])

    private static let trustFailures: Set<ErrorCode> = [
        .untrustedCertificate, .certificateExpired, .certificateNotYetValid, .hostNameMismatch, .unknownIssuer,
        .selfSignedCertificate, .certificateRevoked, .revocationUnknown, .stapledResponseInvalid, .pinMismatch,
        .weakCertificate, .unsuitableCertificate, .clientCertificateRequired, .clientCertificateRefused, .tlsMismatch,
        .plainTextOnTLSPort,
    ]

    private static let permanent: Set<ErrorCode> = [
        .unacceptableStatus, .unacceptableContentType, .invalidURL, .unsupportedScheme, .invalidRequest, .unsupported,
        .encodingFailed, .bodyNotReplayable, .bodyLengthMismatch, .bodyFailed, .invalidTLSSetting, .sessionInvalidated,
        .cancelled, .deadlineExceeded,
    ]

    private static let corruption: Set<ErrorCode> = [.digestMismatch, .lengthMismatch]
}

extension HTTPResponse.Status {
    /// The statuses of temporary failures: 408, 429, 500, 502, 503 and 504.
    package static let transient: Set<HTTPResponse.Status> = [
        .requestTimeout, .tooManyRequests, .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]

    /// True if the status, together with Retry-After, means that the server has not processed the request: 429 and 503.
    var refusesUnprocessed: Bool { self == .tooManyRequests || self == .serviceUnavailable }
}

extension CurlewError {
    /// True if the same transfer may succeed later: the failure or the status is temporary, or the body broke off.
    package var isWorthRepeating: Bool {
        if code == .unacceptableStatus, let response { return HTTPResponse.Status.transient.contains(response.status) }
        return code.isTransient || code == .responseTruncated
    }

    /// An error for a response whose status refuses the request.
    package init(refusal response: CurlewResponse, _ message: String) {
        self.init(
            .unacceptableStatus, message,
            context: Context(
                uri: response.uri, stage: .receiving, response: response.head, showsQuery: response.showsQuery))
    }
}
