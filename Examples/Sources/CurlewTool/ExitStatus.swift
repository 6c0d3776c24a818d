import Curlew

/// The exit status for each kind of failure: curl's where curl has one.
enum ExitStatus {
    /// The status of a wrong command line.
    static let usage: Int32 = 2

    /// The status of an output that failed.
    static let output: Int32 = 23

    /// The status for an error of a call; nil for an error of the command line.
    static func status(ofCallWith error: any Error) -> Int32? {
        switch error {
        case is OutputFailure: output
        case let error as CurlewError: status(for: error)
        default: nil
        }
    }

    static func status(for error: CurlewError) -> Int32 {
        // libcurl knows more about a broken connection.
        if [.connectionLost, .http2Failed, .proxyFailed].contains(error.code), let code = error.engineCode,
            (1...99).contains(code)
        {
            return Int32(code)
        }
        return status(for: error.code)
    }

    static func status(for code: ErrorCode) -> Int32 {
        if code.isTimeout { return 28 }
        if let status = statuses[code] { return status }
        return code.isTrustFailure ? 60 : 121
    }

    private static let statuses: [ErrorCode: Int32] = [
        .unsupportedScheme: 1,
        .invalidRequest: 2,
        .invalidURL: 3, .invalidRedirect: 3,
        .unsupported: 4,
        .proxyNotFound: 5,
        .hostNotFound: 6,
        .connectionRefused: 7, .connectionFailed: 7, .addressForbidden: 7, .proxyFailed: 7,
        .invalidResponse: 8,
        .http2Failed: 16,
        .responseTruncated: 18, .rangesFailed: 18,
        .unacceptableStatus: 22, .upgradeRefused: 22, .webSocketHandshakeFailed: 22,
        .fileFailed: 23, .fileExists: 23, .diskFull: 23, .invalidDestination: 23, .partFileInUse: 23,
        .bodyFailed: 26, .bodyLengthMismatch: 26,
        .resourcesExhausted: 27,
        .deadlineExceeded: 28, .deadlineUnreachable: 28,
        .tlsHandshakeFailed: 35, .tlsMismatch: 35, .plainTextOnTLSPort: 35,
        .cancelled: 42,
        .tooManyRedirects: 47, .redirectRefused: 47,
        .connectionLost: 56, .proxyAuthenticationRequired: 56,
        .clientCertificateRequired: 56, .clientCertificateRefused: 56,
        .invalidTLSSetting: 58,
        .contentDecodingFailed: 61,
        .responseTooLarge: 63, .responseHeadTooLarge: 56,
        .pinMismatch: 90, .stapledResponseInvalid: 91,
        .digestMismatch: 120, .lengthMismatch: 120,
    ]
}
