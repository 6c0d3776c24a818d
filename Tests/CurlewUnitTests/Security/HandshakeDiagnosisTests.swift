import Testing

@testable import CurlewCore

@Suite("The cause of a TLS failure")
struct HandshakeDiagnosisTests {
    private func code(
        _ diagnosis: HandshakeDiagnosis, _ text: String = "", isLost: Bool = false
    ) -> ErrorCode? {
        diagnosis.refusal(engineText: text, isLost: isLost)?.code
    }

    @Test("an alert during the handshake determines the reason of the failure")
    func alerts() {
        let cases: [(Int32, asked: Bool, identity: Bool, ErrorCode?)] = [
            (40, false, false, .tlsMismatch), (70, false, false, .tlsMismatch), (71, true, true, .tlsMismatch),
            (40, true, false, .clientCertificateRequired), (40, true, true, .clientCertificateRefused),
            (116, true, false, .clientCertificateRequired), (48, true, true, .clientCertificateRefused),
            (42, true, false, .clientCertificateRequired), (42, false, false, nil), (80, true, true, nil),
        ]
        for (alert, asked, identity, expected) in cases {
            let diagnosis = HandshakeDiagnosis(
                hasIdentity: identity, wasAskedForCertificate: asked, receivedAlert: alert)
            #expect(code(diagnosis) == expected, "\(alert)")
        }
    }

    @Test("after the handshake only a missing or rejected client certificate is a TLS failure")
    func afterwards() {
        var diagnosis = HandshakeDiagnosis(version: .tls13, wasAskedForCertificate: true)
        #expect(code(diagnosis, "wrong version number") == nil)
        #expect(code(diagnosis, isLost: true) == .clientCertificateRequired)
        diagnosis.hasIdentity = true
        #expect(code(diagnosis, isLost: true) == .clientCertificateRefused)
        diagnosis.version = .tls12
        #expect(code(diagnosis, isLost: true) == nil)
        diagnosis.receivedAlert = 70
        #expect(code(diagnosis) == nil)
        #expect(code(HandshakeDiagnosis(version: .tls13), isLost: true) == nil)
    }

    @Test("OpenSSL's messages and alerts distinguish plain text from a forbidden version")
    func words() {
        #expect(code(HandshakeDiagnosis(), "error:0A00010B:SSL routines::wrong version number") == .plainTextOnTLSPort)
        #expect(code(HandshakeDiagnosis(), "error:0A000102:SSL routines::unsupported protocol") == .tlsMismatch)
        #expect(code(HandshakeDiagnosis(sentAlert: 70)) == .tlsMismatch)
        #expect(code(HandshakeDiagnosis(), "unexpected eof while reading") == nil)
    }
}
