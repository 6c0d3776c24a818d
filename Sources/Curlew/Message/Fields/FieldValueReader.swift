/// Reads the parts of a field's value: tokens, quoted strings, and what stands between (RFC 9110 §5.6). What is not UTF-8 is
/// taken for ISO-8859-1.
struct FieldValueReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    var isAtEnd: Bool { position == bytes.count }

    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    mutating func skip(while condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    mutating func skipSpace() { skip { $0 == .space || $0 == .tab || $0 == .carriageReturn || $0 == .lineFeed } }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// A token, if one begins here.
    mutating func token() -> String? {
        let start = position
        skip(while: \.isTokenByte)
        return position > start ? text(bytes[start..<position]) : nil
    }

    /// What stands before the next semicolon, without space around it; nil if that is nothing or holds control characters.
    mutating func bareValue() -> String? {
        let start = position
        skip { $0 != .semicolon }
        var value = bytes[start..<position]
        while let last = value.last, last == .space || last == .tab { value.removeLast() }
        guard !value.isEmpty, value.allSatisfy(Self.isText) else { return nil }
        return text(value)
    }

    /// A quoted string without its quotes and escapes. One that does not end reaches to the end of the value.
    mutating func quotedString() -> String? {
        guard take(.quote) else { return nil }
        var value: [UInt8] = []
        while position < bytes.count, bytes[position] != .quote {
            if bytes[position] == .backslash, position + 1 < bytes.count { position += 1 }
            value.append(bytes[position])
            position += 1
        }
        _ = take(.quote)
        return value.allSatisfy(Self.isText) ? text(value[...]) : nil
    }

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == .tab }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(guessing: bytes) }
}
