public import HTTPTypes

extension HTTPField {
    /// Makes a field from text that somebody else wrote, and fails where it cannot be sent as it stands.
    ///
    /// The other initializers put spaces in place of CR, LF and NUL. That is safe, but not what was asked for; a gateway,
    /// or a tool that reads fields from its user, needs an error instead. Spaces and tabs around a value are kept in the field, and left
    /// out when it is sent.
    /// - Parameters:
    ///   - name: The name; its case is kept.
    ///   - value: The bytes of the value: visible ASCII, spaces, tabs, and 0x80 to 0xFF (RFC 9110 §5.5).
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a name that is no token, and for a value with a
    ///   control character.
    public init(checking name: String, value: some Collection<UInt8>) throws {
        guard let name = Name(name) else { throw CurlewError(.invalidRequest, "a field name is not a token") }
        guard value.allSatisfy(\.isFieldValueByte) else {
            throw CurlewError(.invalidRequest, "the value of \(name.rawName) holds a control character")
        }
        self.init(name: name, lenientValue: value)
    }
}

extension HTTPField {
    /// Gives access to the bytes of the value as they are sent: without the spaces and tabs around them (RFC 9110 §5.5).
    @inline(__always)
    func withTrimmedValue<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
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
