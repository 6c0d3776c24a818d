internal import HTTPTypes

/// The field Content-Digest (RFC 9530 §2), by which a signature covers content.
enum DigestField {
    static let name = HTTPField.Name("Content-Digest")!

    enum Algorithm: String, CaseIterable {
        // The strongest one comes first.
        case sha512 = "sha-512"
        case sha256 = "sha-256"

        func digest(of content: [UInt8]) throws(CredentialsError) -> [UInt8] {
            switch self {
            case .sha256: try Hashing.sha256(content)
            case .sha512: try Hashing.sha512(content)
            }
        }
    }

    /// `sha-256=:…:`
    static func value(of content: [UInt8], by algorithm: Algorithm = .sha256) throws(CredentialsError) -> String {
        "\(algorithm.rawValue)=\(StructuredField.BareItem.bytes(try algorithm.digest(of: content)).text)"
    }

    /// True if the strongest digest that is known is the content's; nil without a digest that is known.
    ///
    /// - Throws: ``CredentialsError`` with ``CredentialsError/Code/signatureRejected`` for a field that breaks its
    ///   rules, or has a digest twice.
    static func matches(_ fields: HTTPFields, _ content: [UInt8]) throws(CredentialsError) -> Bool? {
        let values = fields[fields: name].map { $0.withUnsafeBytesOfValue { Array($0) } }
        guard !values.isEmpty else { return nil }
        guard let dictionary = StructuredField.dictionary(Array(values.joined(separator: [.comma, .space]))),
            dictionary.repeatedKeys.isEmpty
        else { throw CredentialsError(.signatureRejected, "the field Content-Digest is malformed") }
        for algorithm in Algorithm.allCases {
            guard let member = dictionary[algorithm.rawValue] else { continue }
            guard case .item(let item) = member, case .bytes(let digest) = item.value else {
                throw CredentialsError(.signatureRejected, "the field Content-Digest is malformed")
            }
            return digest.isSameInConstantTime(as: try algorithm.digest(of: content))
        }
        return nil
    }
}
