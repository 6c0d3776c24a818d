/// The parameters of a Content-Disposition field (RFC 6266 §4.1, RFC 7578 §4.2). What cannot be read is passed over.
struct ContentDisposition: Sendable {
    private let parameters: [MediaType.Parameter]

    init(_ text: String) {
        var reader = FieldValueReader(text.utf8)
        parameters = MediaTypeParser.parameters(&reader)
    }

    var name: String? { self["name"] }

    /// `filename*` if it can be read, else `filename`.
    var fileName: String? { self["filename*"].flatMap(Self.decoded) ?? self["filename"] }

    private subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The value of an extended parameter (RFC 8187 §3.2.1), such as `UTF-8''%E2%82%AC`: nil if it is not UTF-8, is written
    /// wrong, or hides a control character.
    private static func decoded(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        var bytes: [UInt8] = []
        var rest = parts[2].utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        guard bytes.allSatisfy(\.isFieldValueByte) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
