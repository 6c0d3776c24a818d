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
        /// A single exchange that asks for an upgrade.
        case upgraded
        /// HTTP/3 over QUIC.
        case quic

        /// True if the first exchange of a connection shows whether others can share it.
        var isNegotiable: Bool { self == .negotiated || self == .shared || self == .quic }
    }

    let isSecure: Bool
    /// The host in lower case; empty for all hosts behind a proxy.
    let host: [UInt8]
    let port: Int
    let use: Use
    let options: ConnectionOptions

    init(_ request: PreparedRequest, _ use: Use) {
        isSecure = request.uri.layout.isSecure
        options = request.options
        // An HTTP proxy accepts requests for every host on each of its connections.
        let isAnyHosts = !isSecure && options.sharesProxyConnections && request.upgrade == nil
        host = isAnyHosts ? [] : request.uri.host.utf8.map(\.lowercasedASCII)
        port = isAnyHosts ? 0 : request.uri.port
        self.use = use
    }

    /// The use of a connection for a request. Without TLS there is no negotiation.
    /// - Parameters:
    ///   - isHTTP11: True if the server has required HTTP/1.1.
    ///   - isOverTCP: True if a request that prefers HTTP/3 is sent over TCP.
    static func use(of request: PreparedRequest, isHTTP11: Bool, isOverTCP: Bool) -> Use {
        if request.upgrade != nil { return .upgraded }
        return switch request.version {
        case .http2PriorKnowledge: .shared
        case .http3Only: .quic
        case .http3 where !isOverTCP: .quic
        case .negotiated where request.uri.layout.isSecure && !isHTTP11, .http3 where !isHTTP11: .negotiated
        case .negotiated, .http3, .http11: .exclusive
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
