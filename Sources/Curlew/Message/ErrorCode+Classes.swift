internal import HTTPTypes

// Every class of failures that decides what happens next, in one place.
extension ErrorCode {
    /// True if time ran out: ``connectionWaitTimeout``, ``connectTimeout``, ``headTimeout``, ``idleTimeout`` and
    /// ``totalTimeout``.
    public var isTimeout: Bool { Self.timeouts.contains(self) }

    /// True if the reason may pass, so that ``Retry`` sends a request again that allows it: ``hostNotFound``, ``proxyNotFound``,
    /// ``connectionRefused``, ``connectionFailed``, ``connectionLost``, ``tlsHandshakeFailed``,
    /// ``connectionWaitTimeout``, ``connectTimeout``, ``headTimeout``, ``idleTimeout`` and ``http2Failed``.
    ///
    /// The table "Which failures are tried again" in <doc:HTTPBehaviour> has the reason for each code.
    public var isTransient: Bool { Self.transient.contains(self) }

    /// True if there was no connection to send the request over: ``hostNotFound``, ``proxyNotFound``, ``connectionRefused``,
    /// ``connectionFailed``, ``connectTimeout``, ``proxyFailed`` and ``tlsHandshakeFailed``. A server that is not trusted is a
    /// failure of trust.
    public var isConnectFailure: Bool { Self.connectFailures.contains(self) }

    /// True if the server is not trusted, it does not trust this client, or the two cannot agree on TLS; asking it again changes
    /// nothing: ``untrustedCertificate``, ``certificateExpired``, ``certificateNotYetValid``, ``hostNameMismatch``,
    /// ``unknownIssuer``, ``selfSignedCertificate``, ``certificateRevoked``, ``revocationUnknown``, ``stapledResponseInvalid``,
    /// ``pinMismatch``, ``weakCertificate``, ``unsuitableCertificate``, ``clientCertificateRequired``,
    /// ``clientCertificateRefused``, ``tlsMismatch`` and ``plainTextOnTLSPort``.
    public var isTrustFailure: Bool { Self.trustFailures.contains(self) }

    /// True if a lack of network may be the reason.
    package var mayLackNetwork: Bool { Self.networkFailures.contains(self) }

    /// True if the same request can never succeed: it cannot be sent as it stands, is refused, or nobody wants it any
    /// more.
    var isPermanent: Bool { isTrustFailure || Self.permanent.contains(self) }

    /// True if bytes that have been received are of no use.
    var isCorruption: Bool { Self.corruption.contains(self) }

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
    /// The statuses that may pass: 408, 429, 500, 502, 503 and 504.
    static let transient: Set<HTTPResponse.Status> = [
        .requestTimeout, .tooManyRequests, .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]

    /// True if a server that answers so, and says when to come again, has not processed the request: 429 and 503.
    var refusesUnprocessed: Bool { self == .tooManyRequests || self == .serviceUnavailable }
}

extension CurlewError {
    /// True if the same transfer may go well another time: the failure is transient, the body broke off, or the status may pass.
    package var isWorthRepeating: Bool {
        if code == .unacceptableStatus, let response { return HTTPResponse.Status.transient.contains(response.status) }
        return code.isTransient || code == .responseTruncated
    }

    /// A response whose status says that nothing was done.
    package init(refusal response: CurlewResponse, _ message: String) {
        self.init(
            .unacceptableStatus, message,
            context: Context(
                uri: response.uri, stage: .receiving, response: response.head, showsQuery: response.showsQuery))
    }
}
