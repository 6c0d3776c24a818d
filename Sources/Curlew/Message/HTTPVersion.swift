/// The version of HTTP that an exchange used.
public struct HTTPProtocolVersion: Sendable, Hashable, Codable, CustomStringConvertible {
    public let major: Int
    public let minor: Int

    public init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0 (RFC 1945).
    public static let http10 = HTTPProtocolVersion(major: 1, minor: 0)
    /// HTTP/1.1 (RFC 9112).
    public static let http11 = HTTPProtocolVersion(major: 1, minor: 1)
    /// HTTP/2 (RFC 9113).
    public static let http2 = HTTPProtocolVersion(major: 2, minor: 0)

    /// `HTTP/1.1`, `HTTP/2` and similar texts.
    public var description: String { minor == 0 && major > 1 ? "HTTP/\(major)" : "HTTP/\(major).\(minor)" }
}

/// The versions of HTTP that a request may use.
public struct HTTPVersionPolicy: Sendable, Hashable, Codable {
    enum Kind: String, Sendable, Codable { case negotiated, http11, http2PriorKnowledge }

    let kind: Kind

    /// HTTP/2 over TLS if the server agrees (ALPN), else HTTP/1.1. The default.
    public static let negotiated = HTTPVersionPolicy(kind: .negotiated)
    /// Only HTTP/1.1.
    public static let http11 = HTTPVersionPolicy(kind: .http11)
    /// HTTP/2 from the first byte, with or without TLS (RFC 9113 §3.3).
    public static let http2PriorKnowledge = HTTPVersionPolicy(kind: .http2PriorKnowledge)
}
