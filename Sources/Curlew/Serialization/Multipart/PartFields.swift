internal import HTTPTypes

/// What may stand in the fields of a part.
enum PartFields {
    /// A Content-Type, as it is.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for one that is empty or holds a control character.
    static func contentType(_ value: String) throws -> HTTPField {
        guard !value.isEmpty else { throw CurlewError(.invalidRequest, "the Content-Type of a part is empty") }
        return try HTTPField(checking: "Content-Type", value: value.utf8)
    }

    /// A field that was made leniently may still hold control characters.
    static func check(_ field: HTTPField) throws {
        _ = try field.withUnsafeBytesOfValue { try HTTPField(checking: field.name.rawName, value: $0) }
    }
}
