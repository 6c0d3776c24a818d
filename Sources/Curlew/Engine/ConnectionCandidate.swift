/// The connection that libcurl has chosen for a request, as it is before a byte of that.
struct ConnectionCandidate {
    /// nil if several may be meant.
    var connection: Connection?
    /// True if a request has gone over it before.
    var isReused = false
    /// True if the address policy permits its peer.
    var isPermitted = true
    /// True if it goes through the request's own proxy, with the same credentials.
    var fitsProxy = true
    /// True if it was given up, or brings bytes that no request has asked for.
    var isOutOfStep = false
    /// True if another exchange uses it and it carries one at a time, or if it does not speak the request's version of HTTP.
    var isUnfit = false
    /// True if the session's limits let it carry no other request.
    var isWorn = false
    /// True if the request's own security policy has accepted it.
    var isAccepted = true
    var speaksHTTP2 = false
    /// The handshake that the connection began with, and what it agreed on; nil without TLS.
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
        if isReused, easy.multi.hygiene.isOn { isWorn = Self.isWorn(connections, easy) }
        guard isSecure else {
            isUnfit = connections.contains { $0.isUsed && $0.isMultiplexed != speaksHTTP2 }
            return
        }
        // libcurl should never choose a connection that another policy has accepted, as it compares an option that identifies
        // the policy (`CURLOPT_CAPATH`). If it did, no byte of the request would go out.
        guard let session = easy.tlsSession, let known = HandshakeData.handshake(of: session),
            known.policy === request.options.trust, let agreed = known.agreement(of: session)
        else {
            isAccepted = false
            return
        }
        handshake = known
        security = agreed
        speaksHTTP2 = known.isHTTP2
        guard isReused else { return }
        isUnfit =
            speaksHTTP2
            ? request.version == .http11
            : Engine.sharesEveryConnection && easy.multi.isTaken(connection, tlsSession: session, besides: easy)
    }

    /// True if one of those that may be meant is worn. One that another request uses alone is not meant.
    private static func isWorn(_ connections: [Connection], _ easy: EasyHandle) -> Bool {
        let now = easy.multi.core.now
        return connections.contains { candidate in
            let isMeant = candidate.user == nil || candidate.user === easy || candidate.isMultiplexed
            return isMeant && candidate.isWorn(at: now)
        }
    }
}
