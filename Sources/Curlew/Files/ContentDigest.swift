/// A digest of some content: by which two contents are the same, or one of them is damaged.
///
/// ```swift
/// let digest = ContentDigest(hex: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// ```
public struct ContentDigest: Sendable, Hashable, Codable, CustomStringConvertible {
    /// How it was made.
    public let algorithm: DigestAlgorithm
    /// The digest itself.
    public let bytes: [UInt8]

    /// nil if the algorithm's digests are of another length.
    public init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.length else { return nil }
        self.init(algorithm, finished: bytes)
    }

    /// Reads hexadecimal digits, as `sha256sum` and `sha512sum` write them: 64 are SHA-256, 128 are SHA-512. nil for
    /// anything else.
    public init?(hex: String) {
        let digits = hex.utf8.map(\.hexValue)
        guard digits.count.isMultiple(of: 2), !digits.contains(nil),
            let algorithm = DigestAlgorithm.all.first(where: { $0.length * 2 == digits.count })
        else { return nil }
        let values = digits.compactMap(\.self)
        self.init(
            algorithm, finished: stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }

    init(_ algorithm: DigestAlgorithm, finished bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    private enum CodingKeys: String, CodingKey {
        case algorithm
        case hex
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let algorithm = try container.decode(DigestAlgorithm.self, forKey: .algorithm)
        guard let digest = ContentDigest(hex: try container.decode(String.self, forKey: .hex)),
            digest.algorithm == algorithm
        else {
            throw DecodingError.dataCorruptedError(forKey: .hex, in: container, debugDescription: "no such digest")
        }
        self = digest
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(algorithm, forKey: .algorithm)
        try container.encode(description, forKey: .hex)
    }

    /// Lower-case hexadecimal digits.
    public var description: String { bytes.hexadecimal }
}
