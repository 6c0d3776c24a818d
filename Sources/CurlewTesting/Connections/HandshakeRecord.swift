#if TestKit
/// What a server's TLS handshake agreed on.
public struct HandshakeRecord: Sendable, Hashable {
    /// The name the client asked for (RFC 6066, section 3); `nil` when it sent none.
    public var serverName: String?
    /// The protocol version, `"TLSv1.2"` or `"TLSv1.3"`.
    public var version: String?
    /// What ALPN chose (RFC 7301), `"h2"` or `"http/1.1"`; `nil` when the client offered nothing that was wanted.
    public var applicationProtocol: String?
    /// The certificate the client showed, DER; `nil` when it showed none.
    public var clientCertificateDER: [UInt8]?

    /// Makes a record; servers of this module do it for you.
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
