/// What is made of a response about revocation that the server hands over in the handshake (RFC 6066 §8).
public struct OCSPStapling: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// None is asked for.
    public static let off = OCSPStapling(rawValue: "off")
    /// One is asked for; if it comes it has to be good. It has to come if the certificate says so (RFC 7633).
    public static let ifPresent = OCSPStapling(rawValue: "if-present")
    /// One has to come and has to be good.
    public static let required = OCSPStapling(rawValue: "required")

    public var description: String { rawValue }
}
