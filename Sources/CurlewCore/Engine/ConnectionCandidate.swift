/// The connection that libcurl is about to use for a request, before it sends a byte.
struct ConnectionCandidate {
    /// True if the connection is the one that the pool has chosen. False only after an error of libcurl.
    var isChosen: Bool
    /// True if the connection has input that belongs to no request.
    var isOutOfStep = false
    /// True if the request's security policy has accepted the server.
    var isAccepted = true
    var wire: WireProtocol
    /// The TLS handshake of the connection and its result; nil without TLS.
    var handshake: Handshake?
    var security: ConnectionSecurity?

    init(isChosen: Bool, _ wire: WireProtocol) {
        self.isChosen = isChosen
        self.wire = wire
    }

    /// - Parameter localPort: The local port of libcurl's connection.
    init(_ connection: Connection, localPort: Int32, for request: PreparedRequest, _ easy: EasyHandle) {
        isChosen = max(0, localPort) == connection.port || connection.dialled?.isConnected == false
        wire = request.version == .http2PriorKnowledge ? .http2 : .http1
        guard isChosen, request.uri.layout.isSecure else { return }
        isOutOfStep = connection.isUsed && !connection.isMultiplexed && easy.hasBufferedTLSInput
        // Without an accepted handshake no byte of the request is sent.
        guard let session = easy.tlsSession, let known = HandshakeData.handshake(of: session),
            known.policy === request.options.trust, let agreed = known.agreement(of: session)
        else {
            isAccepted = false
            return
        }
        handshake = known
        security = agreed
        wire = known.isHTTP3 ? .http3 : known.isHTTP2 ? .http2 : .http1
        // QUIC without HTTP/3, or the reverse, is an error of libcurl.
        isAccepted = connection.isQUIC == known.isHTTP3
    }
}
