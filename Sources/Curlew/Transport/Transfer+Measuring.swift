internal import CLibcurl
internal import COpenSSL

extension Transfer {
    /// Notes what is only known while the connection is the transfer's: what TLS agreed on.
    func noteAgreement() {
        isHTTP2Agreed = request.version == .http2PriorKnowledge
        guard request.uri.layout.isSecure, let session = easy?.tlsSession else { return }
        if let version = SSL_get_version(session) { tlsVersion = TLSVersion(String(cString: version)) }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &length)
        isHTTP2Agreed = UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
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
        metrics.tlsVersion = tlsVersion
        return metrics
    }
}
