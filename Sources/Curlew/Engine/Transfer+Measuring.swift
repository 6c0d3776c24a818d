internal import CLibcurl
internal import COpenSSL

extension Transfer {
    /// Notes what is only known while the connection is the transfer's: what TLS agreed on.
    /// - Returns: Whether the connection is one that the request's own policy has accepted. libcurl is told never to bring
    ///   another, and this is why it would do no harm.
    func noteAgreement() -> Bool {
        isHTTP2Agreed = request.version == .http2PriorKnowledge
        guard request.uri.layout.isSecure else { return true }
        guard let session = easy?.tlsSession, let handshake = HandshakeData.handshake(of: session),
            handshake.policy === request.options.trust, let agreed = handshake.agreement(of: session)
        else { return false }
        security = agreed
        self.handshake = handshake
        isHTTP2Agreed = handshake.isHTTP2
        return true
    }

    /// libcurl itself repeats the request on another connection: what is known of the attempt that died is kept.
    func noteRepetition() {
        var metrics = AttemptMetrics()
        metrics.queued = queued
        metrics.isReused = isReused
        metrics.total = lastActivity.duration(to: multi.core.now)
        attempts.append(metrics)
    }

    /// The figures of the attempt that is ending.
    func measure(_ easy: EasyHandle) -> AttemptMetrics {
        let dns = easy.offset(CURLINFO_NAMELOOKUP_TIME_T)
        let connect = easy.offset(CURLINFO_CONNECT_TIME_T)
        let tls = easy.offset(CURLINFO_APPCONNECT_TIME_T)
        var metrics = AttemptMetrics()
        metrics.queued = queued
        metrics.isReused = isReused
        metrics.isProxied = request.options.values.proxy != nil
        if !isReused, connect > 0 {
            metrics.nameLookup = .microseconds(dns)
            metrics.connect = .microseconds(max(0, connect - dns))
            if tls > 0 { metrics.tls = .microseconds(max(0, tls - connect)) }
        }
        let firstByte = easy.offset(CURLINFO_STARTTRANSFER_TIME_T)
        if firstByte > 0 { metrics.firstByte = .microseconds(firstByte) }
        metrics.total = .microseconds(easy.offset(CURLINFO_TOTAL_TIME_T))
        metrics.sentFieldBytes = Int64(easy.long(CURLINFO_REQUEST_SIZE))
        metrics.sentBodyBytes = sentBody
        metrics.receivedHeadBytes = Int64(easy.long(CURLINFO_HEADER_SIZE))
        metrics.receivedBodyBytes = receivedBody
        if stage != .connecting {
            metrics.remoteAddress = easy.string(CURLINFO_PRIMARY_IP)
            metrics.remotePort = easy.long(CURLINFO_PRIMARY_PORT)
        }
        if head != nil { metrics.version = parser.version }
        metrics.tlsVersion = security?.tlsVersion
        metrics.security = security
        return metrics
    }
}
