internal import HTTPTypes

/// What may stand in the fields of a part.
enum PartFields {
    /// swift-http-types keeps line ends and NUL out of values, and what is no token out of names; the other control
    /// characters are refused here.
    static func check(_ field: HTTPField) throws {
        let isValid = field.withUnsafeBytesOfValue { $0.allSatisfy(isAllowed) }
        guard isValid, !field.name.rawName.isEmpty, field.name.rawName.utf8.allSatisfy(\.isTokenByte) else {
            throw CurlewError(.invalidRequest, "a field of a part holds a control character")
        }
    }

    /// The text, if it can stand as a value as it is.
    static func checked(_ value: String) throws -> String {
        guard !value.isEmpty, value.utf8.allSatisfy(isAllowed) else {
            throw CurlewError(.invalidRequest, "the Content-Type of a part is empty or holds a control character")
        }
        return value
    }

    private static func isAllowed(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == .tab }
}
