internal import COpenSSL
internal import CurlewPlatform
internal import FoundationEssentials

/// The handshake of one TLS connection: it verifies the peer, and stores the reason of a refusal or the agreed
/// properties.
///
/// Its owners are the connection's `SSL_CTX`, which libcurl creates for each connection, and the handle that opens the
/// connection. Not `Sendable`: it stays on its loop's thread.
final class Handshake {
    let policy: CompiledPolicy
    let rules: TrustRules
    private let host: String
    private var hasStarted = false
    private var mustStaple = false
    private var chain: [CertificateHandle] = []

    /// The reason for which the peer was refused.
    private(set) var refusal: TrustFailure?
    private var trust: SecurityPolicy.ServerTrust?
    /// The error that an evaluator returned.
    private var evaluatorError: (any Error)?
    private var peer: VerifiedPeer?
    private var wasAskedForCertificate = false
    private var receivedAlert: Int32?
    private var sentAlert: Int32?
    private var security: ConnectionSecurity?
    /// True if the peer has ended its side of the connection (`close_notify`, RFC 8446 §6.1).
    private(set) var isClosedByPeer = false
    /// True if ALPN agreed on HTTP/2.
    private(set) var isHTTP2 = false
    /// True if ALPN agreed on HTTP/3.
    private(set) var isHTTP3 = false

    /// - Parameter host: The host as in the request's URI.
    init(policy: CompiledPolicy, host: String) {
        self.policy = policy
        self.host = host
        // A host without a valid name fails verification under any rules.
        rules = HostName(host: host).map { policy.rules(for: $0) } ?? policy.rules(for: .name(""))
    }

    private var moment: Int64 {
        rules.policy.validationDate.map { CertificateTime.seconds($0.timeIntervalSince1970) } ?? CertificateTime.now
    }

    func refuse(_ refusal: TrustFailure) { if self.refusal == nil { self.refusal = refusal } }

    // MARK: Handshake steps

    /// Sets the server name, and resumes an earlier session only if its peer would be accepted today. Called before the
    /// first byte.
    func begins(_ connection: OpaquePointer) {
        guard !hasStarted else { return }
        hasStarted = true
        switch rules.policy.serverName {
        case .host: break
        case .none: _ = curlew_set_server_name(connection, nil)
        case .name(let name): _ = curlew_set_server_name(connection, name)
        }
        guard let session = tickets?.take() else { return }
        if let peer = HandshakeData.peer(of: session), mayResume(peer) {
            SSL_set_session(connection, session)
        } else {
            tickets?.removeAll()
        }
        SSL_SESSION_free(session)
    }

    /// The sessions of earlier connections to the same destination.
    var tickets: SessionTickets?

    /// Stores a session for which the server has sent a ticket.
    /// - Returns: 1 if the session is stored.
    func takeSession(_ session: OpaquePointer) -> Int32 {
        guard let tickets, HandshakeData.peer(of: session) != nil else { return 0 }
        tickets.insert(session)
        return 1
    }

    private func mayResume(_ peer: VerifiedPeer) -> Bool {
        guard rules.policy.evaluator == nil, rules.policy.revocationLists == nil,
            rules.policy.stapling != .required
        else { return false }
        let name = HostName(host: host)
        return peer.policy == policy.number && peer.host == name && moment <= peer.validUntil
    }

    /// Verifies the certificates of the peer.
    /// - Returns: True if the peer is accepted; otherwise ``refusal`` is the reason.
    func verify(leaf: OpaquePointer?, sent: OpaquePointer?, connection: OpaquePointer) -> Bool {
        refusal = nil
        peer = nil
        guard let leaf = CertificateHandle(sharing: leaf) else {
            refuse(TrustFailure(.untrustedCertificate, "the server has sent no certificate"))
            return false
        }
        guard let name = HostName(host: host) else {
            refuse(TrustFailure(.hostNameMismatch, "certificates cannot name the host \(host)"))
            return false
        }
        var judgment = PeerVerifier(rules: rules, host: name, moment: moment, leaf: leaf, sent: sent).judge()
        if !judgment.isInternalFailure, let evaluator = rules.policy.evaluator { apply(evaluator, to: &judgment) }
        guard judgment.refusal == nil, let accepted = accept(judgment, name) else {
            refuse(judgment.refusal ?? TrustFailure(.resourcesExhausted, "no memory for a certificate"))
            trust = makeTrust(judgment)
            return false
        }
        // A session without a stored peer is not resumed.
        if let session = SSL_get_session(connection) { HandshakeData.keep(accepted, in: session) }
        peer = accepted
        chain = judgment.chain
        mustStaple = !rules.policy.allowsInvalidCertificates && curlew_must_staple(leaf.raw) != 0
        return true
    }

    private func accept(_ judgment: PeerVerifier.Judgment, _ name: HostName) -> VerifiedPeer? {
        let certificates = judgment.chain.compactMap { CurlewCertificate($0) }
        guard !certificates.isEmpty, certificates.count == judgment.chain.count else { return nil }
        let ends = judgment.chain.map { $0.validity?.upperBound ?? 0 }
        let end = rules.policy.allowsInvalidCertificates ? Int64.max : ends.min() ?? 0
        return VerifiedPeer(
            host: name, policy: policy.number, chain: certificates, matchedPin: judgment.pin, validUntil: end)
    }

    private func apply(_ evaluator: SecurityPolicy.Evaluator, to judgment: inout PeerVerifier.Judgment) {
        switch evaluator.evaluate(makeTrust(judgment)) {
        case .deferToPolicy: break
        case .accept:
            if judgment.refusal != nil { judgment.chain = PeerVerifier.linked(judgment.chain) }
            judgment.refusal = nil
        case .refuse(let error):
            evaluatorError = error
            let own = error as? CurlewError
            judgment.refusal = TrustFailure(
                own?.code ?? .untrustedCertificate, own?.message ?? "the evaluator has refused the server")
        }
    }

    private func makeTrust(_ judgment: PeerVerifier.Judgment) -> SecurityPolicy.ServerTrust {
        let name = HostName(host: host)?.description ?? host
        let verdict: SecurityPolicy.ServerTrust.Verdict =
            judgment.refusal.map { .refused($0.code, reason: $0.reason) } ?? .accepted(matchedPin: judgment.pin)
        return SecurityPolicy.ServerTrust(
            host: name, chain: judgment.chain.compactMap { CurlewCertificate($0) }, verdict: verdict)
    }

    /// Checks the stapled response, after the server's part of the handshake.
    func acceptsStapledResponse(of connection: OpaquePointer) -> Bool {
        // A resumed TLS session has no stapled response: the response was checked in its first handshake.
        guard SSL_session_reused(connection) == 0 else { return true }
        var start: UnsafePointer<UInt8>?
        let count = curlew_stapled_response(connection, &start)
        let isRequired = rules.policy.stapling == .required
        var problem: TrustFailure?
        if let start, count > 0 {
            guard !rules.policy.allowsInvalidCertificates || isRequired else { return true }
            guard let leaf = chain.first else { return false }
            // A certificate that is an anchor itself is its own issuer.
            problem = StapledResponse(
                bytes: UnsafeBufferPointer(start: start, count: count), leaf: leaf,
                issuer: chain.count > 1 ? chain[1] : leaf, moment: moment
            ).refusal()
        } else if isRequired || mustStaple {
            problem = StapledResponse.missing
        }
        guard let problem else { return true }
        refuse(problem)
        trust = SecurityPolicy.ServerTrust(
            host: peer?.host.description ?? host, chain: peer?.chain ?? [],
            verdict: .refused(problem.code, reason: problem.reason))
        peer = nil
        return false
    }

    func noteCertificateRequest() { wasAskedForCertificate = true }

    func noteAlert(_ value: Int32, isReceived: Bool) {
        let alert = value & 0xFF
        if isReceived, alert == 0 { isClosedByPeer = true }
        // `close_notify` (0), `user_canceled` (90) and `no_renegotiation` (100) are not failures.
        guard ![0, 90, 100].contains(alert) else { return }
        if isReceived { receivedAlert = receivedAlert ?? alert } else { sentAlert = sentAlert ?? alert }
    }

    // MARK: Result

    /// The properties of the connection; nil unless this policy accepted the peer.
    func agreement(of connection: OpaquePointer) -> ConnectionSecurity? {
        if let security { return security }
        let isResumed = SSL_session_reused(connection) == 1
        if isResumed { peer = SSL_get_session(connection).flatMap { HandshakeData.peer(of: $0) } }
        guard refusal == nil, let peer, peer.policy == policy.number else { return nil }
        let version = SSL_get_version(connection).map { String(cString: $0) } ?? ""
        let cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(connection)).map { String(cString: $0) } ?? ""
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(connection, &start, &count)
        let name = UnsafeBufferPointer(start: start, count: Int(count))
        isHTTP2 = name.elementsEqual("h2".utf8)
        isHTTP3 = name.elementsEqual("h3".utf8)
        security = ConnectionSecurity(
            tlsVersion: SecurityPolicy.TLSVersion(version), cipher: cipher,
            applicationProtocol: name.isEmpty ? nil : String(decoding: name, as: UTF8.self), peer: peer,
            isResumed: isResumed)
        chain = []
        return security
    }

    /// The error of the connection, if TLS failed.
    /// - Parameters:
    ///   - text: The engine's error text, which contains OpenSSL's reason.
    ///   - isLost: True if the connection ended after the handshake, before the first byte of a response.
    func failure(engineText text: String, isLost: Bool) -> CurlewError? {
        let diagnosis = HandshakeDiagnosis(
            version: security?.tlsVersion, hasIdentity: rules.identity != nil,
            wasAskedForCertificate: wasAskedForCertificate, receivedAlert: receivedAlert, sentAlert: sentAlert)
        guard let found = refusal ?? diagnosis.refusal(engineText: text, isLost: isLost) else { return nil }
        var context = CurlewError.Context()
        context.serverTrust = trust
        if security == nil { context.stage = .connecting }
        let cause = evaluatorError is CurlewError ? nil : evaluatorError
        return CurlewError(found.code, "\(host): \(found.reason)", context: context, underlying: cause)
    }
}
