/// A hash function that is safe to compare content by.
public struct DigestAlgorithm: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Its name in the registry of RFC 9530 §5, such as `sha-256`.
    public let name: String

    /// SHA-256: 32 bytes.
    public static let sha256 = DigestAlgorithm(name: "sha-256")
    /// SHA-512: 64 bytes.
    public static let sha512 = DigestAlgorithm(name: "sha-512")

    /// The weakest first.
    static let all = [sha256, sha512]

    private init(name: String) { self.name = name }

    /// nil for a name that is not known here, such as `md5`, `sha` and `crc32c`, which keep nobody from changing content.
    public init?(_ name: String) {
        guard let known = Self.all.first(where: { $0.name == name }) else { return nil }
        self = known
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let known = DigestAlgorithm(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no digest algorithm")
        }
        self = known
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    public var description: String { name }

    /// The length of its digests in bytes.
    var length: Int { self == .sha512 ? 64 : 32 }

    var function: MessageDigest.Algorithm { self == .sha512 ? .sha512 : .sha256 }
}
