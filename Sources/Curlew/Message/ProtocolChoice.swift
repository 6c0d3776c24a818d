/// Which versions of HTTP a request may use.
public struct HTTPVersionPolicy: Sendable, Hashable, Codable {
    enum Kind: String, Sendable, Codable { case negotiated, http11, http2PriorKnowledge }

    let kind: Kind

    /// HTTP/2 over TLS where the server agrees to it (ALPN), else HTTP/1.1. The default.
    public static let negotiated = HTTPVersionPolicy(kind: .negotiated)
    /// HTTP/1.1 alone.
    public static let http11 = HTTPVersionPolicy(kind: .http11)
    /// HTTP/2 from the first byte, also without TLS (RFC 9113 §3.3).
    public static let http2PriorKnowledge = HTTPVersionPolicy(kind: .http2PriorKnowledge)
}
