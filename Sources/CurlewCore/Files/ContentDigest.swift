internal import FoundationEssentials
internal import HTTPTypes

/// A digest of some content, for detecting damage or a difference.
///
/// ```swift
/// let digest = try ContentDigest(hex: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// ```
public struct ContentDigest: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The hash function of the digest.
    public let algorithm: ContentDigest.Algorithm
    /// The bytes of the digest.
    public let bytes: [UInt8]

    /// nil if the number of bytes differs from the algorithm's.
    public init?(_ algorithm: ContentDigest.Algorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.length else { return nil }
        self.init(algorithm, finished: bytes)
    }

    /// Parses hexadecimal digits, the output of `sha256sum` and `sha512sum`: 64 digits are SHA-256, 128 are SHA-512.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for other text. The initializer does not return nil,
    ///   because a digest that is nil would disable the check.
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

    /// Parses Base 64. nil for other text and for another length.
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
    /// Parses the value of Repr-Digest or Content-Digest (RFC 9530 §2, §3). Of several digests, the one with the
    /// strongest known algorithm is used. nil without one.
    ///
    /// Unreadable members and unknown algorithms are skipped. Strictly, one bad member invalidates the complete
    /// structured field (RFC 9651 §4.2). The strict rule would only check less.
    public init?(field: String) {
        var found: [ContentDigest.Algorithm: ContentDigest] = [:]
        for member in MediaTypeParser.parts(of: Array(field.utf8)) {
            guard let (algorithm, digest) = Self.member(member) else { continue }
            // Of two members with the same name, the last counts (RFC 9651 §4.2.2).
            found[algorithm] = digest
        }
        guard let strongest = ContentDigest.Algorithm.all.last(where: { found[$0] != nil }),
            let digest = found[strongest]
        else {
            return nil
        }
        self = digest
    }

    /// The strongest digest of a response's content; Repr-Digest is preferred to Content-Digest.
    /// - Parameter isPartial: True if the content is a part of the representation, which Repr-Digest does not describe.
    init?(of fields: HTTPFields, isPartial: Bool) {
        let names = isPartial ? [HTTPField.Name.contentDigest] : [.reprDigest, .contentDigest]
        let digests = names.compactMap { fields[$0].flatMap { ContentDigest(field: $0) } }
        guard let digest = digests.first(where: { $0.algorithm == .sha512 }) ?? digests.first else { return nil }
        self = digest
    }

    /// Parses `sha-256=:BASE64:` with optional parameters, which are ignored.
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
    /// A hash function that is safe for comparing content.
    public struct Algorithm: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The algorithm's name in the registry of RFC 9530 §5, such as `sha-256`.
        public let name: String

        /// SHA-256: 32 bytes.
        public static let sha256 = ContentDigest.Algorithm(name: "sha-256")
        /// SHA-512: 64 bytes.
        public static let sha512 = ContentDigest.Algorithm(name: "sha-512")

        /// All algorithms, the weakest first.
        static let all = [sha256, sha512]

        private init(name: String) { self.name = name }

        /// nil for an unsupported name, such as `md5`, `sha` and `crc32c`, which do not protect against deliberate
        /// changes.
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

        /// The length of a digest in bytes.
        var length: Int { self == .sha512 ? 64 : 32 }

        package var function: MessageDigest.Algorithm { self == .sha512 ? .sha512 : .sha256 }
    }
}
