/// A version of TLS.
public struct TLSVersion: Sendable, Hashable, Codable, CustomStringConvertible {
    /// As OpenSSL writes it: `TLSv1.3`.
    public let description: String

    init(_ description: String) { self.description = description }

    /// RFC 5246.
    public static let tls12 = TLSVersion("TLSv1.2")
    /// RFC 8446.
    public static let tls13 = TLSVersion("TLSv1.3")

    /// Whether this is one of the versions that a policy may name.
    var isKnown: Bool { self == .tls12 || self == .tls13 }
}
