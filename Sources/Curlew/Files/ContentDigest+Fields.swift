internal import FoundationEssentials
internal import HTTPTypes

extension ContentDigest {
    /// Reads the value of Repr-Digest or Content-Digest (RFC 9530 §2, §3): of several digests the one by the strongest
    /// algorithm that is known. nil if there is none.
    ///
    /// Members that cannot be read are passed over, and so are algorithms that are not known. Strictly, one bad member spoils
    /// a whole structured field (RFC 9651 §4.2); the result would be the same, that nothing is checked, or less is.
    public init?(field: String) {
        var found: [DigestAlgorithm: ContentDigest] = [:]
        for member in MediaTypeParser.parts(of: Array(field.utf8)) {
            guard let (algorithm, digest) = Self.member(member) else { continue }
            // The last of two members with one name counts (RFC 9651 §4.2.2).
            found[algorithm] = digest
        }
        guard let strongest = DigestAlgorithm.all.last(where: { found[$0] != nil }), let digest = found[strongest]
        else {
            return nil
        }
        self = digest
    }

    /// The strongest digest of what is written when a response's content is, the one of the whole representation first.
    /// - Parameter isPartial: Whether the content is a part of the representation, of which Repr-Digest says nothing.
    init?(of fields: HTTPFields, isPartial: Bool) {
        let names = isPartial ? [Self.contentField] : [Self.representationField, Self.contentField]
        let digests = names.compactMap { fields[$0].flatMap { ContentDigest(field: $0) } }
        guard let digest = digests.first(where: { $0.algorithm == .sha512 }) ?? digests.first else { return nil }
        self = digest
    }

    static let representationField = HTTPField.Name("Repr-Digest")!
    static let contentField = HTTPField.Name("Content-Digest")!

    /// `sha-256=:BASE64:`, and parameters, which mean nothing here.
    private static func member(_ bytes: ArraySlice<UInt8>) -> (DigestAlgorithm, ContentDigest)? {
        let text = bytes.drop(while: \.isBlank)
        guard let equals = text.firstIndex(of: .equals),
            let algorithm = DigestAlgorithm(String(decoding: text[..<equals], as: UTF8.self))
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
