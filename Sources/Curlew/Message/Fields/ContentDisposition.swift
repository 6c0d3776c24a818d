internal import HTTPTypes

/// The parameters of a Content-Disposition field (RFC 6266 §4.1, RFC 7578 §4.2). What cannot be read is passed over.
struct ContentDisposition: Sendable {
    private let parameters: [MediaType.Parameter]

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// Text is UTF-8 where it can be, else ISO-8859-1, as the field is not bound to either.
    init(_ bytes: [UInt8]) {
        // Some servers leave the type out and begin with the name.
        let isNaked = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased() == "filename"
        var reader = FieldValueReader(isNaked ? [.semicolon] + bytes : bytes)
        parameters = MediaTypeParser.parameters(&reader)
    }

    /// Reads the first field of that name.
    init?(of fields: HTTPFields) {
        guard let field = fields[fields: .contentDisposition].first else { return nil }
        self.init(field.withUnsafeBytesOfValue { Array($0) })
    }

    var name: String? { self["name"] }

    /// `filename*` if it can be read, else `filename`.
    var fileName: String? { self["filename*"].flatMap(Self.decoded) ?? self["filename"] }

    private subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The value of an extended parameter (RFC 8187 §3.2.1), such as `UTF-8''%E2%82%AC`: nil if it is in neither of the two
    /// encodings that there ever were for it, is written wrong, or hides a control character.
    private static func decoded(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentDecoding.bytes(of: parts[2], isStrict: true) else { return nil }
        guard bytes.allSatisfy(\.isFieldValueByte) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        // RFC 5987, the elder of the two, had it.
        case "iso-8859-1": return String(latin1: bytes)
        default: return nil
        }
    }
}
