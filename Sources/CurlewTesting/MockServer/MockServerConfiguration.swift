#if TestKit
extension MockServer {
    /// The address, the protocols and the bounds of a server.
    public struct Configuration: Sendable {
        /// The address; IPv4 loopback by default.
        public var address = ServerAddress.ipv4
        /// The TLS configuration; cleartext when `nil`.
        public var tls: ServerTLS?
        /// The protocol versions, best first; HTTP/2 and HTTP/1.1 by default.
        ///
        /// Over TLS, ALPN offers them, unless ``ServerTLS/applicationProtocols`` overrides them. In cleartext the
        /// server recognizes HTTP/2 by its preface (RFC 9113, section 3.3).
        public var protocols: [ProtocolVersion] = [.http2, .http11]
        /// The number of recorded bytes of a request's body; 16 MiB by default, and 0 records none.
        public var recordedBodyLimit = 16 << 20
        /// The maximum number of requests in ``MockServer/requests``; 1,024 by default. The oldest are evicted.
        public var recordedRequestLimit = 1024
        /// The maximum size of all bodies in ``MockServer/requests``; 64 MiB by default. The oldest requests are
        /// evicted.
        public var recordedBytesLimit = 64 << 20
        /// The flow-control window of an HTTP/2 stream and of a connection for uploads; 1 MiB by default.
        public var windowSize = 1 << 20
        /// The maximum number of open streams of an HTTP/2 connection; 100 by default.
        public var concurrentStreams = 100
        /// The clock of delays and throttles.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Makes a configuration; each property has its documented default.
        public init(
            address: ServerAddress = .ipv4,
            tls: ServerTLS? = nil,
            protocols: [ProtocolVersion] = [.http2, .http11]
        ) {
            self.address = address
            self.tls = tls
            self.protocols = protocols
        }
    }
}
#endif
