public import HTTPTypes

extension HTTPField {
    /// Makes a field from unchecked text, and throws if the text cannot be sent unchanged.
    ///
    /// The other initializers replace CR, LF and NUL by spaces. That is safe but changes the value. A gateway, or a
    /// tool that reads fields from its user, needs an error instead. Spaces and tabs around a value are kept in the
    /// field and removed when it is sent.
    /// - Parameters:
    ///   - name: The name; its case is kept.
    ///   - value: The bytes of the value: visible ASCII, spaces, tabs, and 0x80 to 0xFF (RFC 9110 §5.5).
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a name that is not a token, and for a value with
    ///   a control character.
    public init(checking name: String, value: some Collection<UInt8>) throws {
        guard let name = Name(name) else { throw CurlewError(.invalidRequest, "a field name is not a token") }
        guard value.allSatisfy(\.isFieldValueByte) else {
            throw CurlewError(.invalidRequest, "the value of \(name.rawName) holds a control character")
        }
        self.init(name: name, lenientValue: value)
    }
}

extension HTTPField {
    /// Passes the bytes of the value as they are sent: without surrounding spaces and tabs (RFC 9110 §5.5).
    @inline(__always)
    package func withTrimmedValue<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try withUnsafeBytesOfValue { value in
            var (start, end) = (value.startIndex, value.endIndex)
            while start < end, value[start].isBlank { start += 1 }
            while end > start, value[end - 1].isBlank { end -= 1 }
            return try body(UnsafeBufferPointer(rebasing: value[start..<end]))
        }
    }

    /// The value as it is sent.
    var trimmedText: String { withTrimmedValue { String(decoding: $0, as: UTF8.self) } }
}
