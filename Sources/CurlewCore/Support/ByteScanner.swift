/// A reader of bytes from left to right. A copy stores a position to return to.
package struct ByteScanner {
    private let bytes: [UInt8]
    private var position = 0
    /// True if a quoted string has no end, so later ones have none either: the rest is searched once.
    private var lacksQuote = false

    package init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    package var isAtEnd: Bool { position == bytes.count }

    /// The next byte; nil at the end.
    package var next: UInt8? { isAtEnd ? nil : bytes[position] }

    package mutating func skip(while condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    package mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        skip(while: condition)
        return bytes[start..<position]
    }

    /// Consumes the byte if it is the next one.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// The contents of a quoted string without its quotes and escapes (RFC 9110 §5.6.4); nil if none begins here. An
    /// unterminated string extends to the end.
    package mutating func takeQuotedString() -> [UInt8]? {
        guard take(.quote) else { return nil }
        var value: [UInt8] = []
        while position < bytes.count, bytes[position] != .quote {
            if bytes[position] == .backslash, position + 1 < bytes.count { position += 1 }
            value.append(bytes[position])
            position += 1
        }
        _ = take(.quote)
        return value
    }

    /// Reads a quoted string as ``takeQuotedString()``, but returns nil for an unterminated one, which would hide all
    /// following text.
    package mutating func takeWholeQuotedString() -> [UInt8]? {
        guard next == .quote, !lacksQuote else { return nil }
        var end = position + 1
        while end < bytes.count, bytes[end] != .quote { end += bytes[end] == .backslash ? 2 : 1 }
        lacksQuote = end >= bytes.count
        return lacksQuote ? nil : takeQuotedString()
    }
}
