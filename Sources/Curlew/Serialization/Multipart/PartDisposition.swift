/// Writes the Content-Disposition of a form's part (RFC 7578 §4.2), with names escaped as browsers do.
struct PartDisposition {
    let name: String
    let fileName: String?
    let hasExtendedFileName: Bool

    /// The value of the field.
    var value: String {
        var text = "form-data; name=\"\(Self.escaped(name))\""
        if let fileName {
            text += "; filename=\"\(Self.escaped(fileName))\""
            if hasExtendedFileName, !fileName.utf8.allSatisfy({ $0 < 0x80 }) {
                text += "; filename*=UTF-8''\(Self.extended(fileName))"
            }
        }
        return text
    }

    /// A name as the WHATWG's multipart/form-data encoding has it: `"` is `%22`, CR `%0D`, LF `%0A`, and `%` stays. The
    /// other control characters are escaped alike, as they may not stand in a field; browsers leave them as they are.
    static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: needsEscape) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if needsEscape(byte) { PercentEncoding.appendEscaped(byte, to: &bytes) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == 0x7F || (byte < 0x20 && byte != .tab)
    }

    /// The value characters of RFC 8187 §3.2.1.
    private static func extended(_ name: String) -> String {
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            let isKept = byte.isLetter || byte.isDigit || "!#$&+-.^_`|~".utf8.contains(byte)
            if isKept { bytes.append(byte) } else { PercentEncoding.appendEscaped(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
