/// The connection that libcurl is about to send a request over, as it is before a byte of that.
struct ConnectionCandidate {
    /// True if it is the one that the pool has chosen. Always, unless libcurl errs.
    var isChosen: Bool
    /// True if it brings bytes that no request has asked for.
    var isOutOfStep = false
    /// True if the request's security policy has accepted the server.
    var isAccepted = true
    var speaksHTTP2: Bool
    /// The handshake that the connection began with, and what it agreed on; nil without TLS.
    var handshake: Handshake?
    var security: ConnectionSecurity?

    init(isChosen: Bool, speaksHTTP2: Bool) {
        self.isChosen = isChosen
        self.speaksHTTP2 = speaksHTTP2
    }

    /// - Parameter localPort: That of the connection that libcurl has.
    init(_ connection: Connection, localPort: Int32, for request: PreparedRequest, _ easy: EasyHandle) {
        isChosen = max(0, localPort) == connection.port || connection.dialled?.isConnected == false
        speaksHTTP2 = request.version == .http2PriorKnowledge
        guard isChosen, request.uri.layout.isSecure else { return }
        isOutOfStep = connection.isUsed && !connection.isMultiplexed && easy.hasBufferedTLSInput
        // Without an accepted handshake no byte of the request goes out.
        guard let session = easy.tlsSession, let known = HandshakeData.handshake(of: session),
            known.policy === request.options.trust, let agreed = known.agreement(of: session)
        else {
            isAccepted = false
            return
        }
        handshake = known
        security = agreed
        speaksHTTP2 = known.isHTTP2
    }
}
