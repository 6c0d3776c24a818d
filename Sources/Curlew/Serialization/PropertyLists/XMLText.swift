/// Text between the tags of XML 1.0.
enum XMLText {
    /// Appends the text with `&`, `<`, `>` and carriage returns escaped. A bare carriage return would be read as a line feed.
    /// - Parameter isChecked: Whether characters that XML 1.0 does not know at all (§2.2) are refused.
    static func append(_ text: String, isChecked: Bool, to output: inout [UInt8]) throws(ParameterFailure) {
        if isChecked, !text.unicodeScalars.allSatisfy(isCharacter) {
            throw ParameterFailure("holds a character that XML does not know")
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): output += "&amp;".utf8
            case UInt8(ascii: "<"): output += "&lt;".utf8
            case UInt8(ascii: ">"): output += "&gt;".utf8
            case .carriageReturn: output += "&#13;".utf8
            default: output.append(byte)
            }
        }
    }

    private static func isCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x10000...: true
        default: false
        }
    }
}
