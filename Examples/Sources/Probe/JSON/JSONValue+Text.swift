extension JSONValue {
    /// Appends the value as UTF-8 without spaces.
    func append(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let flag): text += (flag ? "true" : "false").utf8
        case .number(let digits): text += digits.utf8
        case .string(let string): Self.append(string, to: &text)
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.append(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                member.append(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a string with its escapes (RFC 8259 §7): never a line end, whatever the string contains.
    static func append(_ string: String, to text: inout [UInt8]) {
        var string = string
        text.append(UInt8(ascii: "\""))
        string.withUTF8 { bytes in
            // Long strings are base64, which is copied at once.
            if bytes.allSatisfy(isPlain) {
                text.append(contentsOf: bytes)
            } else {
                for byte in bytes { append(byte, to: &text) }
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func append(_ byte: UInt8, to text: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            text.append(UInt8(ascii: "\\"))
            text.append(byte)
        case 0x0A: text += "\\n".utf8
        case 0x0D: text += "\\r".utf8
        case 0x09: text += "\\t".utf8
        case ..<0x20: text += "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8
        default: text.append(byte)
        }
    }
}

extension JSONValue.Member {
    func append(to text: inout [UInt8]) {
        JSONValue.append(name, to: &text)
        text.append(UInt8(ascii: ":"))
        value.append(to: &text)
    }
}
