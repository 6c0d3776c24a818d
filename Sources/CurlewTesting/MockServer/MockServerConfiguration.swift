#if TestKit
extension MockServer {
    /// Where and how a server listens, and the bounds of what it keeps.
    public struct Configuration: Sendable {
        /// Where it listens; IPv4 loopback by default.
        public var address = ServerAddress.ipv4
        /// Its TLS; cleartext when `nil`.
        public var tls: ServerTLS?
        /// The versions it speaks, best first; HTTP/2 and HTTP/1.1 by default.
        ///
        /// With TLS they are what ALPN offers, unless ``ServerTLS/applicationProtocols`` says something else. In
        /// cleartext HTTP/2 is known by its preface (RFC 9113, section 3.3).
        public var protocols: [ProtocolVersion] = [.http2, .http11]
        /// The bytes of a request's body that are recorded; 16 MiB by default, and 0 records none.
        public var recordedBodyLimit = 16 << 20
        /// The requests that wait to be taken from ``MockServer/requests``; the oldest leave when there are more.
        public var recordedRequestLimit = 1024
        /// The bytes of bodies in all the requests that wait to be taken; the oldest leave when there are more.
        public var recordedBytesLimit = 64 << 20
        /// The window that HTTP/2 grants a stream and a connection for uploads; 1 MiB by default.
        public var windowSize = 1 << 20
        /// The streams that a client may have open at once on an HTTP/2 connection; 100 by default.
        public var concurrentStreams = 100
        /// What delays and throttles are measured with.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// A configuration with the default that each property names.
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
