extension ErrorCode {
    /// Whether ``Retry`` sends a request again after this failure, if the request allows it. The table "Which failures are
    /// tried again" in the documentation has the reason for each code.
    var isTransient: Bool { Self.transient.contains(self) }

    private static let transient: Set<ErrorCode> = [
        .hostNotFound, .proxyNotFound, .connectionRefused, .connectionFailed, .connectionLost, .tlsHandshakeFailed,
        .connectTimeout, .idleTimeout, .http2Failed,
    ]
}
