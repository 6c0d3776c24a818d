internal import CLibcurl

extension TaskMetrics {
    /// The timings and byte counts of one attempt at an exchange.
    public struct Attempt: Sendable, Hashable {
        /// The time in the session's queue.
        public internal(set) var queued: Duration = .zero
        /// The wait for a connection (``Timeouts/connectionWait``): from the end of ``queued`` until a connection was
        /// available or begun. Nearly zero if one was free or could be opened.
        public internal(set) var waited: Duration = .zero
        /// The time of the name look-up; nil on a kept connection.
        public internal(set) var nameLookup: Duration?
        /// The time of the TCP connection; nil on a kept connection.
        public internal(set) var connect: Duration?
        /// The time of the TLS handshake; nil without TLS and on a kept connection.
        public internal(set) var tls: Duration?
        /// The time from the start to the first byte of the response; nil without a response.
        public internal(set) var firstByte: Duration?
        /// The time from the start to the end, without the time in the session's queue.
        public internal(set) var total: Duration = .zero
        /// The bytes of the request's head.
        public internal(set) var sentFieldBytes: Int64 = 0
        /// The bytes of the request's body.
        public internal(set) var sentBodyBytes: Int64 = 0
        /// The bytes of the response's heads.
        public internal(set) var receivedHeadBytes: Int64 = 0
        /// The bytes of the response's body, before content decoding.
        public internal(set) var receivedBodyBytes: Int64 = 0
        /// The remote address, without brackets; nil without a connection.
        public internal(set) var remoteAddress: String?
        /// The remote port.
        public internal(set) var remotePort = 0
        /// True if the attempt used a proxy.
        public internal(set) var isProxied = false
        /// True if the attempt used an open connection.
        public internal(set) var isReused = false
        /// The version of HTTP; nil before the head of the response.
        public internal(set) var version: HTTPProtocolVersion?
        /// The version of TLS; nil without TLS.
        public internal(set) var tlsVersion: SecurityPolicy.TLSVersion?
        /// The security of the TLS connection; nil without TLS.
        public internal(set) var security: ConnectionSecurity?

        init() {}

        /// The waits of an attempt before it had a connection.
        struct Waits {
            var queued: Duration
            var waited: Duration
            var connecting = Duration.zero
        }

        private init(_ waits: Waits) {
            queued = waits.queued
            waited = waits.waited
        }
    }
}

extension TaskMetrics.Attempt {
    /// Makes the metrics of an attempt without a connection.
    init(ofUnconnected waits: Waits) {
        self.init(waits)
        total = waits.waited + waits.connecting
    }

    /// Makes the metrics of an attempt that libcurl itself repeats on another connection.
    init(ofRepeated attempt: borrowing Attempt, _ waits: Waits, total: Duration) {
        self.init(waits)
        self.total = total
        isReused = attempt.isReused
    }

    /// Adds the timings and byte counts of an upgrade, for which libcurl has only opened the connection.
    mutating func add(_ figures: UpgradeExchange.Figures, until now: Instant) {
        if let first = figures.firstByte { firstByte = total + figures.start.duration(to: first) }
        total += figures.start.duration(to: now)
        sentFieldBytes = Int64(figures.sentHeadBytes)
        receivedHeadBytes = Int64(figures.receivedHeadBytes)
    }

    /// - Parameter delay: The time until libcurl got the exchange.
    fileprivate mutating func readTimes(_ easy: EasyHandle, _ connection: Connection?, after delay: Duration) {
        if !isReused, let dialled = connection?.dialled {
            nameLookup = dialled.nameLookUp
            connect = dialled.connected - dialled.nameLookUp
            let secured = easy.offset(CURLINFO_APPCONNECT_TIME_T)
            if secured > 0 { tls = .microseconds(secured) }
        }
        let answered = easy.offset(CURLINFO_STARTTRANSFER_TIME_T)
        if answered > 0 { firstByte = .microseconds(answered) + delay }
        total = .microseconds(easy.offset(CURLINFO_TOTAL_TIME_T)) + delay
    }
}

extension TaskMetrics.Attempt {
    /// Makes the metrics of an attempt that its handle has ended.
    init(_ attempt: borrowing Attempt, _ request: PreparedRequest, _ easy: EasyHandle, _ waits: Waits) {
        self.init(waits)
        isReused = attempt.isReused
        isProxied = request.options.values.proxy != nil
        readTimes(easy, attempt.connection, after: waits.waited + waits.connecting)
        sentFieldBytes = Int64(easy.long(CURLINFO_REQUEST_SIZE))
        sentBodyBytes = attempt.outgoing.sentBytes
        receivedHeadBytes = Int64(easy.long(CURLINFO_HEADER_SIZE))
        receivedBodyBytes = attempt.incoming.bodyBytes
        if let peer = attempt.connection?.peerText {
            remoteAddress = peer.address
            remotePort = peer.port
        }
        version = attempt.incoming.head == nil ? nil : attempt.incoming.version
        tlsVersion = attempt.security?.tlsVersion
        security = attempt.security
    }
}
