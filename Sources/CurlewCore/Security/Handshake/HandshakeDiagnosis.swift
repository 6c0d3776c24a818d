internal import COpenSSL

/// The cause of a TLS failure, if the client did not refuse the server. It is read from the transferred alerts (RFC
/// 8446 §6.2) and from OpenSSL's error text.
struct HandshakeDiagnosis {
    /// The agreed version; nil until the handshake has ended.
    var version: SecurityPolicy.TLSVersion?
    var hasIdentity = false
    var wasAskedForCertificate = false
    var receivedAlert: Int32?
    var sentAlert: Int32?

    /// - Parameters:
    ///   - text: The engine's error text.
    ///   - isLost: True if the connection ended after the handshake, before the first byte of a response.
    /// - Returns: nil for a failure without a specific code. A failure after the handshake belongs to the exchange,
    ///   except the refusal of the client's certificate.
    func refusal(engineText text: String, isLost: Bool) -> TrustFailure? {
        if let found = receivedAlert.flatMap({ refusal(alert: $0) }) { return found }
        if version == nil { return refusal(text: text) }
        return isLost ? lossRefusal : nil
    }

    private func refusal(alert: Int32) -> TrustFailure? {
        let words = SSL_alert_desc_string_long(alert).map { String(cString: $0) } ?? "\(alert)"
        let isAboutCertificate = (42...46).contains(alert) || [48, 49].contains(alert)
        let isAboutOffer = version == nil && [40, 70, 71].contains(alert)
        switch alert {
        case 116: return Self.certificateRequired
        case _ where wasAskedForCertificate && (isAboutCertificate || isAboutOffer && alert == 40):
            return hasIdentity
                ? TrustFailure(.clientCertificateRefused, "the server has refused the client's certificate: \(words)")
                : Self.certificateRequired
        case _ where isAboutOffer:
            return TrustFailure(
                .tlsMismatch, "the server accepts none of the offered TLS versions and ciphers: \(words)")
        default: return nil
        }
    }

    private func refusal(text: String) -> TrustFailure? {
        if text.contains("wrong version number") {
            return TrustFailure(.plainTextOnTLSPort, "the server does not speak TLS on this port")
        }
        let mismatches = [
            "unsupported protocol", "no protocols available", "wrong cipher returned", "no ciphers available",
        ]
        guard sentAlert == 70 || mismatches.contains(where: text.contains) else { return nil }
        return TrustFailure(.tlsMismatch, "the server has chosen a TLS version or cipher that is not allowed")
    }

    /// The failure of a lost connection. With TLS 1.3 the client's handshake ends before the server has verified its
    /// certificate. The alert then races with the request, and a reset by the server may discard it.
    private var lossRefusal: TrustFailure? {
        guard wasAskedForCertificate, version == .tls13 else { return nil }
        return hasIdentity
            ? TrustFailure(
                .clientCertificateRefused,
                "the server requested a client certificate, and ended the connection without an answer")
            : TrustFailure(
                .clientCertificateRequired,
                "the server requested a client certificate, received none, and ended the connection without an answer")
    }

    private static let certificateRequired = TrustFailure(
        .clientCertificateRequired, "the server requires a client certificate, and none is configured for it")
}
