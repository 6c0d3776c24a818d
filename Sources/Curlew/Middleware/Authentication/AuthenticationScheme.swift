/// A way to authenticate by the name that it has in challenges (RFC 9110 §11.1), compared without regard to case.
public struct AuthenticationScheme: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name, in lower case.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue.lowercased() }

    public var description: String { rawValue }

    /// User and password in every request, readable by who sees it (RFC 7617).
    public static let basic = AuthenticationScheme(rawValue: "basic")
    /// A token (RFC 6750).
    public static let bearer = AuthenticationScheme(rawValue: "bearer")
    /// A digest over password, nonce and request (RFC 7616).
    public static let digest = AuthenticationScheme(rawValue: "digest")
    /// A ticket of Kerberos (RFC 4559).
    public static let negotiate = AuthenticationScheme(rawValue: "negotiate")
    /// Microsoft's challenge and response, which binds the connection.
    public static let ntlm = AuthenticationScheme(rawValue: "ntlm")
}
