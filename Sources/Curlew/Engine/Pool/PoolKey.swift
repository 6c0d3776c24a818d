/// The properties that requests have in common that may go over the same connections.
struct PoolKey: Hashable {
    /// The use of a connection.
    enum Use: Hashable {
        /// By an exchange at a time: HTTP/1.1.
        case exclusive
        /// By whatever ALPN agrees on.
        case negotiated
        /// HTTP/2 from the first byte on.
        case shared
        /// By one exchange that asks for an upgrade, and by no other.
        case upgraded

        /// True if its first exchange shows whether others can share a connection.
        var isNegotiable: Bool { self == .negotiated || self == .shared }
    }

    let isSecure: Bool
    /// In lower case; empty for all hosts behind a proxy.
    let host: [UInt8]
    let port: Int
    let use: Use
    let options: ConnectionOptions

    /// - Parameter isHTTP11: True if the server has asked for HTTP/1.1.
    init(_ request: PreparedRequest, isHTTP11: Bool) {
        isSecure = request.uri.layout.isSecure
        options = request.options
        // A proxy of HTTP takes requests for every host over each of its connections.
        let isAnyHosts = !isSecure && options.sharesProxyConnections && request.upgrade == nil
        host = isAnyHosts ? [] : request.uri.host.utf8.map(\.lowercasedASCII)
        port = isAnyHosts ? 0 : request.uri.port
        use = Self.use(of: request, isHTTP11: isHTTP11)
    }

    /// Without TLS nothing is negotiated.
    static func use(of request: PreparedRequest, isHTTP11: Bool) -> Use {
        if request.upgrade != nil { return .upgraded }
        return switch request.version {
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
