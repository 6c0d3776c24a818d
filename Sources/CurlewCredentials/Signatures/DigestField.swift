public import Curlew
internal import HTTPTypes

/// The field Content-Digest (RFC 9530 §2), through which a signature covers content.
enum DigestField {
    static func value(of content: [UInt8], by algorithm: ContentDigest.Algorithm = .sha256) throws(CurlewError)
        -> String
    {
        try ContentDigest(algorithm, of: content).fieldValue
    }

    /// True if the strongest supported digest matches the content; nil without a supported digest.
    ///
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/signatureRejected`` for a field that is malformed, or
    ///   that contains a digest twice.
    static func matches(_ fields: HTTPFields, _ content: [UInt8]) throws(CurlewError) -> Bool? {
        let values = fields[fields: .contentDigest].map { $0.withUnsafeBytesOfValue { Array($0) } }
        guard !values.isEmpty else { return nil }
        guard let dictionary = StructuredField.dictionary(Array(values.joined(separator: [.comma, .space]))),
            dictionary.repeatedKeys.isEmpty
        else { throw CurlewError(.signatureRejected, "the field Content-Digest is malformed") }
        // The strongest digest decides.
        for algorithm in [ContentDigest.Algorithm.sha512, .sha256] {
            guard let member = dictionary[algorithm.name] else { continue }
            guard case .item(let item) = member, case .bytes(let digest) = item.value else {
                throw CurlewError(.signatureRejected, "the field Content-Digest is malformed")
            }
            return digest.isSameInConstantTime(as: try ContentDigest(algorithm, of: content).bytes)
        }
        return nil
    }
}

extension ContentDigest {
    /// The digest of content in memory.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/engineFailed`` if OpenSSL fails.
    public init(_ algorithm: ContentDigest.Algorithm = .sha256, of content: [UInt8]) throws(CurlewError) {
        let bytes = algorithm == .sha512 ? try Hashing.sha512(content) : try Hashing.sha256(content)
        guard let digest = ContentDigest(algorithm, bytes: bytes) else {
            throw CurlewError(.engineFailed, "a hash has a wrong length")
        }
        self = digest
    }

    /// The value of Content-Digest and Repr-Digest (RFC 9530): `sha-256=:…:`.
    public var fieldValue: String { "\(algorithm.name)=\(StructuredField.BareItem.bytes(bytes).text)" }
}
