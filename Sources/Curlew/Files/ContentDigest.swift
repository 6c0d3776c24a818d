internal import FoundationEssentials
internal import HTTPTypes

/// A digest of some content: by which two contents are the same, or one of them is damaged.
///
/// ```swift
/// let digest = try ContentDigest(hex: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// ```
public struct ContentDigest: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The hash function that made it.
    public let algorithm: ContentDigest.Algorithm
    /// The digest itself.
    public let bytes: [UInt8]

    /// nil if the algorithm's digests are of another length.
    public init?(_ algorithm: ContentDigest.Algorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.length else { return nil }
        self.init(algorithm, finished: bytes)
    }

    /// Reads hexadecimal digits, as `sha256sum` and `sha512sum` write them: 64 are SHA-256, 128 are SHA-512.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for anything else: a digest that is nil would check nothing.
    public init(hex: String) throws {
        let digits = hex.utf8.map(\.hexValue)
        guard digits.count.isMultiple(of: 2), !digits.contains(nil),
            let algorithm = ContentDigest.Algorithm.all.first(where: { $0.length * 2 == digits.count })
        else {
            throw CurlewError(
                .invalidRequest, "the digest to expect is neither a SHA-256 nor a SHA-512 in hexadecimal digits")
        }
        let values = digits.compactMap(\.self)
        self.init(
            algorithm, finished: stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }

    /// Reads Base 64. nil for anything else, and for a digest of another length.
    init?(_ algorithm: ContentDigest.Algorithm, base64: String) {
        guard let data = Data(base64Encoded: base64) else { return nil }
        self.init(algorithm, bytes: Array(data))
    }

    init(_ algorithm: ContentDigest.Algorithm, finished bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    private enum CodingKeys: String, CodingKey {
        case algorithm
        case hex
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let algorithm = try container.decode(ContentDigest.Algorithm.self, forKey: .algorithm)
        let digest = try? ContentDigest(hex: try container.decode(String.self, forKey: .hex))
        guard let digest, digest.algorithm == algorithm else {
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

extension ContentDigest {
    /// Reads the value of Repr-Digest or Content-Digest (RFC 9530 §2, §3): of several digests the one by the strongest
    /// algorithm that is known. nil if there is none.
    ///
    /// Members that cannot be read are passed over, and so are algorithms that are not known. Strictly, one bad member spoils
    /// a whole structured field (RFC 9651 §4.2); the result would be the same, that nothing is checked, or less is.
    public init?(field: String) {
        var found: [ContentDigest.Algorithm: ContentDigest] = [:]
        for member in MediaTypeParser.parts(of: Array(field.utf8)) {
            guard let (algorithm, digest) = Self.member(member) else { continue }
            // The last of two members with one name counts (RFC 9651 §4.2.2).
            found[algorithm] = digest
        }
        guard let strongest = ContentDigest.Algorithm.all.last(where: { found[$0] != nil }),
            let digest = found[strongest]
        else {
            return nil
        }
        self = digest
    }

    /// The strongest digest of what is written when a response's content is, the one of the whole representation first.
    /// - Parameter isPartial: Whether the content is a part of the representation, of which Repr-Digest says nothing.
    init?(of fields: HTTPFields, isPartial: Bool) {
        let names = isPartial ? [HTTPField.Name.contentDigest] : [.reprDigest, .contentDigest]
        let digests = names.compactMap { fields[$0].flatMap { ContentDigest(field: $0) } }
        guard let digest = digests.first(where: { $0.algorithm == .sha512 }) ?? digests.first else { return nil }
        self = digest
    }

    /// `sha-256=:BASE64:`, and parameters, which mean nothing here.
    private static func member(_ bytes: ArraySlice<UInt8>) -> (ContentDigest.Algorithm, ContentDigest)? {
        let text = bytes.drop(while: \.isBlank)
        guard let equals = text.firstIndex(of: .equals),
            let algorithm = ContentDigest.Algorithm(String(decoding: text[..<equals], as: UTF8.self))
        else { return nil }
        let value = text[(equals + 1)...]
        guard value.first == .colon, let end = value.dropFirst().firstIndex(of: .colon) else { return nil }
        let rest = value[(end + 1)...].drop(while: \.isBlank)
        guard rest.isEmpty || rest.first == .semicolon,
            let data = Data(base64Encoded: String(decoding: value[(value.startIndex + 1)..<end], as: UTF8.self)),
            let digest = ContentDigest(algorithm, bytes: Array(data))
        else { return nil }
        return (algorithm, digest)
    }
}

extension ContentDigest {
    /// A hash function that is safe to compare content by.
    public struct Algorithm: Sendable, Hashable, Codable, CustomStringConvertible {
        /// Its name in the registry of RFC 9530 §5, such as `sha-256`.
        public let name: String

        /// SHA-256: 32 bytes.
        public static let sha256 = ContentDigest.Algorithm(name: "sha-256")
        /// SHA-512: 64 bytes.
        public static let sha512 = ContentDigest.Algorithm(name: "sha-512")

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
            guard let known = ContentDigest.Algorithm(try container.decode(String.self)) else {
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
}
