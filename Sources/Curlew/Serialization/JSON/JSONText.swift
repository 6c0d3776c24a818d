/// Strings of JSON (RFC 8259 §7).
enum JSONText {
    /// Appends the string in quotation marks. Control characters, quotation marks and backslashes are escaped, everything
    /// else stands as it is in UTF-8.
    static func append(_ string: String, escapingSlashes: Bool, to output: inout [UInt8]) {
        var string = string
        output.append(quotationMark)
        string.withUTF8 { bytes in
            var start = 0
            for (position, byte) in bytes.enumerated() where needsEscape(byte, escapingSlashes) {
                output.append(contentsOf: bytes[start..<position])
                appendEscape(of: byte, to: &output)
                start = position + 1
            }
            output.append(contentsOf: bytes[start...])
        }
        output.append(quotationMark)
    }

    private static let quotationMark = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    private static func needsEscape(_ byte: UInt8, _ escapingSlashes: Bool) -> Bool {
        byte < 0x20 || byte == quotationMark || byte == backslash || (byte == .slash && escapingSlashes)
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(backslash)
        switch byte {
        case quotationMark, backslash, .slash: output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case .tab: output.append(UInt8(ascii: "t"))
        case .lineFeed: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case .carriageReturn: output.append(UInt8(ascii: "r"))
        default:
            let low = byte & 15
            output += "u00".utf8
            output.append(UInt8(ascii: "0") + byte >> 4)
            output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}
