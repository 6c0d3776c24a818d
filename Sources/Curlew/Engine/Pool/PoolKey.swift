/// What requests have in common that may go over the same connections.
struct PoolKey: Hashable {
    /// How a connection is used.
    enum Use: Hashable {
        /// One exchange at a time: HTTP/1.1.
        case exclusive
        /// By whatever ALPN agrees on.
        case negotiated
        /// HTTP/2 from the first byte on.
        case shared
    }

    let isSecure: Bool
    /// In lower case.
    let host: [UInt8]
    let port: Int
    let use: Use
    let options: ConnectionOptions

    /// - Parameter isHTTP11: True if the server has asked for HTTP/1.1.
    init(_ request: PreparedRequest, isHTTP11: Bool) {
        isSecure = request.uri.layout.isSecure
        host = request.uri.host.utf8.map(\.lowercasedASCII)
        port = request.uri.port
        options = request.options
        use = Self.use(of: request, isHTTP11: isHTTP11)
    }

    /// Without TLS nothing is negotiated.
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
