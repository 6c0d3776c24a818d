public import HTTPTypes

extension HTTPField {
    /// Makes a field from text that somebody else wrote, and fails where it cannot be sent as it stands.
    ///
    /// The other initializers put spaces in place of CR, LF and NUL. That is safe, but not what was asked for; a gateway,
    /// or a tool that reads fields from its user, needs an error instead.
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
