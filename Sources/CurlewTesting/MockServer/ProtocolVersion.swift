#if TestKit
/// A version of HTTP that a ``MockServer`` supports.
public struct ProtocolVersion: Sendable, Hashable, CustomStringConvertible {
    /// The usual notation: `HTTP/1.1`.
    public let description: String

    /// HTTP/1.0; servers with HTTP/1.1 also answer such requests.
    public static let http10 = ProtocolVersion(description: "HTTP/1.0")
    /// HTTP/1.1 (RFC 9112).
    public static let http11 = ProtocolVersion(description: "HTTP/1.1")
    /// HTTP/2 (RFC 9113).
    public static let http2 = ProtocolVersion(description: "HTTP/2")

    /// The name in ALPN.
    var applicationProtocol: String { self == .http2 ? "h2" : "http/1.1" }
}
#endif
