/// Whom a session trusts at the other end of a TLS connection.
public struct SecurityPolicy: Sendable, Hashable, Codable {
    enum Anchors: Sendable, Hashable, Codable {
        case system
        case pem(String)
    }

    let anchors: Anchors

    /// The lowest TLS version to agree to.
    public var minimumTLSVersion: TLSVersion = .tls12

    /// The certificate authorities of the system.
    public static let system = SecurityPolicy(anchors: .system)

    /// These certificates, in PEM, and no others.
    public static func anchors(pem: String) -> SecurityPolicy { SecurityPolicy(anchors: .pem(pem)) }

    init(anchors: Anchors) { self.anchors = anchors }
}

/// A version of TLS.
public struct TLSVersion: Sendable, Hashable, Codable, CustomStringConvertible {
    /// As OpenSSL writes it: `TLSv1.3`.
    public let description: String

    init(_ description: String) { self.description = description }

    /// RFC 5246.
    public static let tls12 = TLSVersion("TLSv1.2")
    /// RFC 8446.
    public static let tls13 = TLSVersion("TLSv1.3")
}
