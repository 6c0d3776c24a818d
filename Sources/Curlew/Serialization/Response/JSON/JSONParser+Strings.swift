extension JSONParser {
    /// A string with its escapes resolved; empty if values are not made.
    mutating func string() throws -> String {
        position += 1
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == .quote {
                defer { position += 1 }
                return builds ? String(decoding: bytes[start..<position], as: UTF8.self) : ""
            }
            if byte == .backslash { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw fault("a string holds a control character") }
            position += 1
        }
        throw fault("a string does not end")
    }

    /// The rest of a string from its first escape on.
    private mutating func escapedString(from start: Int) throws -> String {
        var text = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case .quote: return builds ? String(decoding: text, as: UTF8.self) : ""
            case .backslash:
                let scalar = try escape()
                if builds { text.append(contentsOf: scalar.utf8) }
            case 0..<0x20:
                position -= 1
                throw fault("a string holds a control character")
            default:
                if builds { text.append(byte) }
            }
        }
        throw fault("a string does not end")
    }

    private mutating func escape() throws -> Unicode.Scalar {
        guard let byte = next else { throw fault("a string does not end") }
        position += 1
        switch byte {
        case .quote, .backslash, .slash: return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default:
            position -= 1
            throw fault("there is no such escape")
        }
    }

    /// What follows `\u`: a code point, or the first half of a surrogate pair and `\u` and the second.
    private mutating func unicodeEscape() throws -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, next == .backslash, position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
        else { throw fault("half a surrogate pair is no character") }
        position += 2
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw fault("half a surrogate pair is no character") }
        return scalar
    }

    private mutating func codeUnit() throws -> UInt16 {
        guard position + 4 <= bytes.count else { throw fault("a string does not end") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = bytes[position].hexValue else { throw fault("an escape lacks a hexadecimal digit") }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
