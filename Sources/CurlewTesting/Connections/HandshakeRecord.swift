#if TestKit
/// The result of a server's TLS handshake.
public struct HandshakeRecord: Sendable, Hashable {
    /// The name that the client requested (RFC 6066, section 3); `nil` when it sent none.
    public var serverName: String?
    /// The protocol version, `"TLSv1.2"` or `"TLSv1.3"`.
    public var version: String?
    /// The protocol that ALPN selected (RFC 7301), `"h2"` or `"http/1.1"`; `nil` when no offered protocol was
    /// acceptable.
    public var applicationProtocol: String?
    /// The client's certificate, DER; `nil` when the client sent none.
    public var clientCertificateDER: [UInt8]?

    /// Makes a record. The servers of this module make their own.
    public init(
        serverName: String? = nil,
        version: String? = nil,
        applicationProtocol: String? = nil,
        clientCertificateDER: [UInt8]? = nil
    ) {
        self.serverName = serverName
        self.version = version
        self.applicationProtocol = applicationProtocol
        self.clientCertificateDER = clientCertificateDER
    }
}
#endif
