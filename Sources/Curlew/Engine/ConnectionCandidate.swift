/// The connection that libcurl has chosen for a request, as it is before a byte of that.
struct ConnectionCandidate {
    /// nil if several may be meant.
    var connection: Connection?
    /// Whether a request has gone over it before.
    var isReused = false
    /// Whether the address policy permits its peer.
    var isPermitted = true
    /// Whether it goes through the request's own proxy, with the same credentials.
    var fitsProxy = true
    /// Whether it was given up, or brings bytes that no request has asked for.
    var isOutOfStep = false
    /// Whether the request's own security policy has accepted it.
    var isAccepted = true
    var speaksHTTP2 = false
    /// How it came to be, and what TLS agreed on; nil without TLS.
    var handshake: Handshake?
    var security: ConnectionSecurity?

    init() {}

    /// Looks at the connections that may be meant; mostly it is one.
    init(_ connections: [Connection], isPermitted: Bool, for request: PreparedRequest, _ easy: EasyHandle) {
        let isSecure = request.uri.layout.isSecure
        isReused = connections.contains { $0.isUsed }
        self.isPermitted = isPermitted
        guard isPermitted else { return }
        fitsProxy = !connections.contains { $0.isUsed && !request.options.fits($0) }
        guard fitsProxy else { return }
        connection = connections.count == 1 ? connections[0] : nil
        isOutOfStep = connections.contains { candidate in
            if candidate.isGivenUp || candidate.isSilent { return true }
            guard candidate.isUsed, candidate.user == nil, !candidate.isMultiplexed else { return false }
            return candidate.hasStrayInput || (isSecure && easy.hasBufferedTLSInput)
        }
        speaksHTTP2 = request.version == .http2PriorKnowledge
        guard isSecure else { return }
        // The handle's options keep libcurl from choosing a connection that another policy has accepted. If it chose one all the
        // same, the request would not go out over it.
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
