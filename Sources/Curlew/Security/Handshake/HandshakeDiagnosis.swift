internal import COpenSSL

/// The diagnosis of a failure of TLS, where it was not us who refused: read from the alerts that went over the wire (RFC
/// 8446 §6.2) and from OpenSSL's words.
struct HandshakeDiagnosis {
    /// The version that was agreed on; nil as long as the handshake has not ended.
    var version: SecurityPolicy.TLSVersion?
    var hasIdentity = false
    var wasAskedForCertificate = false
    var receivedAlert: Int32?
    var sentAlert: Int32?

    /// - Parameters:
    ///   - text: The engine's words.
    ///   - isLost: Whether the connection ended after the handshake, before a byte of an answer.
    /// - Returns: nil for what has no code of its own. What comes after the handshake is the exchange's failure, but for a
    ///   verdict on the client's certificate.
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
                .tlsMismatch, "the server takes none of the TLS versions and ciphers on offer: \(words)")
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

    /// With TLS 1.3 the client's handshake is over before the server has looked at its certificate. The alert then races
    /// with the request, and a reset by the server may swallow it.
    private var lossRefusal: TrustFailure? {
        guard wasAskedForCertificate, version == .tls13 else { return nil }
        return hasIdentity
            ? TrustFailure(
                .clientCertificateRefused,
                "the server asked for a client certificate, and ended the connection without an answer")
            : TrustFailure(
                .clientCertificateRequired,
                "the server asked for a client certificate, got none, and ended the connection without an answer")
    }

    private static let certificateRequired = TrustFailure(
        .clientCertificateRequired, "the server wants a client certificate, and there is none for it")
}
