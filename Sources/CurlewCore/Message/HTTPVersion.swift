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
    /// HTTP/3 (RFC 9114).
    public static let http3 = HTTPProtocolVersion(major: 3, minor: 0)

    /// True if a connection of this version carries several exchanges at a time, each as a stream.
    var hasStreams: Bool { major >= 2 }

    /// `HTTP/1.1`, `HTTP/2` and similar texts.
    public var description: String { minor == 0 && major > 1 ? "HTTP/\(major)" : "HTTP/\(major).\(minor)" }
}

/// The versions of HTTP that a request may use.
public struct HTTPVersionPolicy: Sendable, Hashable, Codable {
    enum Kind: String, Sendable, Codable { case negotiated, http11, http2PriorKnowledge, http3, http3Only }

    let kind: Kind

    /// HTTP/2 over TLS if the server agrees (ALPN), else HTTP/1.1. The default.
    public static let negotiated = HTTPVersionPolicy(kind: .negotiated)
    /// Only HTTP/1.1.
    public static let http11 = HTTPVersionPolicy(kind: .http11)
    /// HTTP/2 from the first byte, with or without TLS (RFC 9113 §3.3).
    public static let http2PriorKnowledge = HTTPVersionPolicy(kind: .http2PriorKnowledge)
    /// HTTP/3 (RFC 9114), or as ``negotiated`` if that is impossible.
    ///
    /// If no QUIC connection is ready within two seconds, or within half of a shorter connect timeout, the request is
    /// sent over TCP. Further requests to the origin use TCP for five minutes, after the next failure for ten, and so
    /// on, up to two days. A certificate that the security policy refuses is an error.
    ///
    /// Requests that HTTP/3 cannot carry are sent as with ``negotiated``: to `http` URLs, over a proxy or a Unix
    /// socket, with trailers, or with a libcurl that has no usable HTTP/3 (older than 8.21, or without ngtcp2).
    public static let http3 = HTTPVersionPolicy(kind: .http3)
    /// Only HTTP/3 (RFC 9114).
    ///
    /// A request that HTTP/3 cannot carry fails with ``ErrorCode/unsupported`` before a connection is made.
    /// ``http3`` lists these requests.
    public static let http3Only = HTTPVersionPolicy(kind: .http3Only)
}
