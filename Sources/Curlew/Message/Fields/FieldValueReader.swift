/// Reads the parts of a field's value: tokens, quoted strings, and what stands between (RFC 9110 §5.6). What is not UTF-8 is
/// taken for ISO-8859-1.
struct FieldValueReader {
    private var scanner: ByteScanner

    init(_ bytes: some Collection<UInt8>) { scanner = ByteScanner(bytes) }

    var isAtEnd: Bool { scanner.isAtEnd }

    var next: UInt8? { scanner.next }

    mutating func skip(while condition: (UInt8) -> Bool) { scanner.skip(while: condition) }

    mutating func skipSpace() { skip { $0.isBlank || $0 == .carriageReturn || $0 == .lineFeed } }

    mutating func take(_ byte: UInt8) -> Bool { scanner.take(byte) }

    /// A token, if one begins here.
    mutating func token() -> String? {
        let token = scanner.take(while: \.isTokenByte)
        return token.isEmpty ? nil : String(guessing: token)
    }

    /// The text before the next semicolon, without space around it; nil if that is nothing or holds control characters.
    mutating func bareValue() -> String? {
        var value = scanner.take { $0 != .semicolon }
        while value.last?.isBlank == true { value.removeLast() }
        return value.isEmpty ? nil : text(value)
    }

    /// A quoted string without its quotes and escapes. One that does not end reaches to the end of the value.
    mutating func quotedString() -> String? { scanner.takeQuotedString().flatMap { text($0[...]) } }

    private func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.allSatisfy(\.isFieldValueByte) ? String(guessing: bytes) : nil
    }
}
