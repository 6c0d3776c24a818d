/// What of the server's chain has to be known beforehand.
public struct PinningMode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing: trusted is who an anchor vouches for.
    public static let none = PinningMode(rawValue: "none")
    /// A public key: one of the chain has to be pinned.
    public static let publicKey = PinningMode(rawValue: "public-key")
    /// A certificate: the pinned ones are the only anchors, and one of them has to be in the chain.
    public static let certificate = PinningMode(rawValue: "certificate")

    public var description: String { rawValue }
}
