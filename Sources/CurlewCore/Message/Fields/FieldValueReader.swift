/// A reader for the parts of a field's value: tokens, quoted strings and the text between them (RFC 9110 §5.6). Bytes
/// that are not UTF-8 are decoded as ISO-8859-1.
struct FieldValueReader {
    private var scanner: ByteScanner

    init(_ bytes: some Collection<UInt8>) { scanner = ByteScanner(bytes) }

    var isAtEnd: Bool { scanner.isAtEnd }

    var next: UInt8? { scanner.next }

    mutating func skip(while condition: (UInt8) -> Bool) { scanner.skip(while: condition) }

    mutating func skipSpace() { skip(while: Self.isSpace) }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte.isBlank || byte == .carriageReturn || byte == .lineFeed
    }

    mutating func take(_ byte: UInt8) -> Bool { scanner.take(byte) }

    /// The token at the present position, if there is one.
    mutating func token() -> String? {
        let token = scanner.take(while: \.isTokenByte)
        return token.isEmpty ? nil : String(guessing: token)
    }

    /// The text before the next semicolon, without white space at its end; nil if it is empty or contains control
    /// characters.
    mutating func bareValue() -> String? {
        var value = scanner.take { $0 != .semicolon }
        while value.last.map(Self.isSpace) == true { value.removeLast() }
        return value.isEmpty ? nil : text(value)
    }

    /// A quoted string without its quotes and escapes. An unterminated one extends to the end of the value.
    mutating func quotedString() -> String? { scanner.takeQuotedString().flatMap { text($0[...]) } }

    private func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.allSatisfy(\.isFieldValueByte) ? String(guessing: bytes) : nil
    }
}
