/// The common properties of requests that may use the same connections.
struct PoolKey: Hashable {
    /// The use of a connection.
    enum Use: Hashable {
        /// A single exchange at a time: HTTP/1.1.
        case exclusive
        /// The protocol that ALPN negotiates.
        case negotiated
        /// HTTP/2 from the first byte on.
        case shared
    }

    let isSecure: Bool
    /// The host in lower case; empty for all hosts behind a proxy.
    let host: [UInt8]
    let port: Int
    let use: Use
    let options: ConnectionOptions

    /// - Parameter isHTTP11: True if the server has required HTTP/1.1.
    init(_ request: PreparedRequest, isHTTP11: Bool) {
        isSecure = request.uri.layout.isSecure
        options = request.options
        // An HTTP proxy accepts requests for every host on each of its connections.
        let isAnyHosts = !isSecure && options.sharesProxyConnections
        host = isAnyHosts ? [] : request.uri.host.utf8.map(\.lowercasedASCII)
        port = isAnyHosts ? 0 : request.uri.port
        use = Self.use(of: request, isHTTP11: isHTTP11)
    }

    /// The use of a connection for a request. Without TLS there is no negotiation.
    static func use(of request: PreparedRequest, isHTTP11: Bool) -> Use {
        switch request.version {
        case .http2PriorKnowledge: .shared
        case .negotiated where request.uri.layout.isSecure && !isHTTP11: .negotiated
        case .negotiated, .http11: .exclusive
        }
    }

    static func == (one: PoolKey, other: PoolKey) -> Bool {
        one.port == other.port && one.isSecure == other.isSecure && one.use == other.use && one.host == other.host
            && one.options.connectsLike(other.options)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(isSecure)
        hasher.combine(use)
        hasher.combine(options.connectionHash)
    }
}
