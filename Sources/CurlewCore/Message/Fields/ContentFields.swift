internal import HTTPTypes

/// The parameters of a Content-Disposition field (RFC 6266 §4.1, RFC 7578 §4.2). Unreadable parts are skipped. Control
/// characters are removed: a name without them is more useful than none.
struct ContentDisposition: Sendable {
    private let parameters: [ContentType.Parameter]

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// Text is decoded as UTF-8 if valid, else as ISO-8859-1, because the field requires neither.
    init(_ value: [UInt8]) {
        // Line ends are kept, because they are white space in a folded field.
        let bytes = value.filter { $0.isFieldValueByte || $0 == .carriageReturn || $0 == .lineFeed }
        // Some servers omit the type and begin with the file name.
        let isNaked = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased() == "filename"
        var reader = FieldValueReader(isNaked ? [.semicolon] + bytes : bytes)
        parameters = MediaTypeParser.parameters(&reader, allowsSpace: true)
    }

    /// Reads the first Content-Disposition field.
    init?(of fields: HTTPFields) {
        guard let field = fields[fields: .contentDisposition].first else { return nil }
        self.init(field.withUnsafeBytesOfValue { Array($0) })
    }

    var name: String? { self["name"] }

    /// `filename*` if it is readable and not empty, else `filename`.
    var fileName: String? {
        if let name = self["filename*"].flatMap(Self.decoded), !name.isEmpty { return name }
        return self["filename"]
    }

    private subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The value of an extended parameter (RFC 8187 §3.2.1), such as `UTF-8''%E2%82%AC`. nil if its encoding is neither
    /// UTF-8 nor ISO-8859-1, or if it is malformed.
    private static func decoded(_ text: String) -> String? {
        let parts = Array(text.utf8)
            .split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let decoded = PercentDecoding.bytes(of: parts[2], isStrict: true) else { return nil }
        let bytes = decoded.filter(\.isFieldValueByte)
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        // ISO-8859-1 is an encoding of RFC 5987, the predecessor of RFC 8187.
        case "iso-8859-1": return String(latin1: bytes)
        default: return nil
        }
    }
}

/// The codings of Content-Encoding (RFC 9110 §8.4), known or unknown.
package struct ContentCodingList {
    /// The names in lower case, in the order in which the codings were applied, without `identity`.
    package private(set) var names: [String] = []

    /// The most codings of a body that can be resumed.
    package static let limit = 8

    /// True if a token can store the codings: their number and length are within the limits, and their names are
    /// tokens.
    package var isKeepable: Bool {
        names.count <= Self.limit && names.allSatisfy { $0.utf8.count <= 64 && $0.utf8.allSatisfy(\.isTokenByte) }
    }

    /// The names of the codings, shortened for a message.
    package var words: String {
        let shown = names.prefix(4).map { String($0.replacingControlCharacters.prefix(32)) }
        return shown.joined(separator: ", ") + (names.count > 4 ? ", …" : "")
    }

    package init(_ names: [String]) { self.names = names }

    /// True if the codings have the same bytes.
    package func isSame(as other: [String]) -> Bool {
        names.count == other.count && zip(names, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    package init(_ fields: HTTPFields) {
        for field in fields where field.name == .contentEncoding {
            for element in field.value.utf8.split(separator: .comma) {
                let name = String(decoding: element.drop(while: \.isBlank), as: UTF8.self)
                    .lowercased().trimmingBlankEnd()
                if !name.isEmpty, name != "identity" { names.append(name) }
            }
        }
    }
}

extension String {
    fileprivate func trimmingBlankEnd() -> String {
        var text = self
        while let last = text.utf8.last, last.isBlank { text.removeLast() }
        return text
    }
}

/// The value of Content-Length (RFC 9110 §8.6).
package enum ContentLength {
    /// The number; nil for an invalid value. A list of equal numbers counts as one, as intermediaries combine several
    /// equal fields into a list (RFC 9110 §8.6).
    package static func read(_ value: some Collection<UInt8>) -> Int64? {
        guard value.contains(.comma) else { return number(value) }
        var length: Int64?
        for text in value.split(separator: .comma, omittingEmptySubsequences: false) {
            guard let number = element(text), length ?? number == number else { return nil }
            length = number
        }
        return length
    }

    private static func element(_ text: some Collection<UInt8>) -> Int64? {
        let start = text.drop(while: \.isBlank)
        let digits = start.prefix(while: \.isDigit)
        return start.dropFirst(digits.count).allSatisfy(\.isBlank) ? number(digits) : nil
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.count <= 19, digits.allSatisfy(\.isDigit) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
