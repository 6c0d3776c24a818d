internal import CLibcurl

extension TaskMetrics {
    /// What one attempt at an exchange took.
    public struct Attempt: Sendable, Hashable {
        /// Waiting for its turn in the session.
        public internal(set) var queued: Duration = .zero
        /// Waiting for a connection (``Timeouts/connectionWait``): from the end of ``queued`` until one was there or begun to be
        /// made. Next to nothing where one was free or could be opened.
        public internal(set) var waited: Duration = .zero
        /// Finding the address; nil on a kept connection.
        public internal(set) var nameLookup: Duration?
        /// Making the TCP connection; nil on a kept connection.
        public internal(set) var connect: Duration?
        /// Shaking hands; nil without TLS and on a kept connection.
        public internal(set) var tls: Duration?
        /// From the start to the first byte of the answer; nil if none came.
        public internal(set) var firstByte: Duration?
        /// From the start to the end, waiting in the session not included.
        public internal(set) var total: Duration = .zero
        /// Bytes of the request's head.
        public internal(set) var sentFieldBytes: Int64 = 0
        /// Bytes of the request's body.
        public internal(set) var sentBodyBytes: Int64 = 0
        /// Bytes of the response's heads.
        public internal(set) var receivedHeadBytes: Int64 = 0
        /// Bytes of the response's body, before content decoding.
        public internal(set) var receivedBodyBytes: Int64 = 0
        /// The address that was connected to, without brackets; nil if there was no connection.
        public internal(set) var remoteAddress: String?
        /// The port that was connected to.
        public internal(set) var remotePort = 0
        /// True if it went through a proxy.
        public internal(set) var isProxied = false
        /// True if an open connection served.
        public internal(set) var isReused = false
        /// The version of HTTP, once the head had come.
        public internal(set) var version: HTTPProtocolVersion?
        /// The version of TLS, if it was used.
        public internal(set) var tlsVersion: SecurityPolicy.TLSVersion?
        /// What the TLS connection is made of, if it was used.
        public internal(set) var security: ConnectionSecurity?

        init() {}

        /// The times that an attempt waited before it had a connection.
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
    /// The figures of an attempt that has had no connection.
    init(ofUnconnected waits: Waits) {
        self.init(waits)
        total = waits.waited + waits.connecting
    }

    /// The figures of an attempt that libcurl itself repeats on another connection.
    init(ofRepeated attempt: borrowing Attempt, _ waits: Waits, total: Duration) {
        self.init(waits)
        self.total = total
        isReused = attempt.isReused
    }

    /// - Parameter delay: The time until libcurl was given the exchange.
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
    /// The figures of an attempt that a handle is done with.
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
