internal import HTTPTypes

/// What Content-Encoding names (RFC 9110 §8.4).
struct ContentCodingList {
    /// The names in lower case, in the order in which the codings were applied, without `identity`.
    private(set) var names: [String] = []
    /// The codings of these names.
    private(set) var decoders: [ContentDecoderKind] = []

    /// Nil if one of the codings is not known: then the body can only be passed on as it is.
    init?(_ fields: HTTPFields) {
        for field in fields where field.name == .contentEncoding {
            for element in field.value.utf8.split(separator: .comma) {
                let name = String(decoding: element.drop(while: Self.isBlank), as: UTF8.self)
                    .lowercased().trimmingBlankEnd()
                if name.isEmpty || name == "identity" { continue }
                guard let decoder = ContentDecoderKind(name: name) else { return nil }
                names.append(name)
                decoders.append(decoder)
            }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == .space || byte == .tab }
}

extension String {
    fileprivate func trimmingBlankEnd() -> String {
        var text = self
        while let last = text.utf8.last, last == .space || last == .tab { text.removeLast() }
        return text
    }
}
