extension JSONParser {
    /// The name of a member; empty if values are not made and it is plain.
    ///
    /// Swift and Foundation hash and compare the names that they are given by their normal form, in time that grows with the
    /// square of a run of combining marks. No writing has such runs.
    mutating func name() throws -> String {
        let start = position
        var name = try string(builds: builds)
        guard !isLastStringPlain else { return name }
        if !builds {
            position = start
            name = try string(builds: true)
        }
        var marks = 0
        for scalar in name.unicodeScalars {
            marks = scalar.isCombiningMark ? marks + 1 : 0
            guard marks <= JSONReadingOptions.combiningMarkLimit else {
                position = start
                throw fault("a name has more than \(JSONReadingOptions.combiningMarkLimit) combining marks in a row")
            }
        }
        return name
    }

    /// A string with its escapes resolved; empty if values are not made.
    mutating func string() throws -> String { try string(builds: builds) }

    private mutating func string(builds: Bool) throws -> String {
        position += 1
        let start = position
        var seen: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == .quote {
                defer { position += 1 }
                isLastStringPlain = seen < 0x80
                return builds ? String(decoding: bytes[start..<position], as: UTF8.self) : ""
            }
            if byte == .backslash { return try escapedString(from: start, builds: builds) }
            guard byte >= 0x20 else { throw fault("a string holds a control character") }
            seen |= byte
            position += 1
        }
        throw fault("a string does not end")
    }

    /// The rest of a string from its first escape on.
    private mutating func escapedString(from start: Int, builds: Bool) throws -> String {
        isLastStringPlain = false
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

extension Unicode.Scalar {
    /// Whether it goes with the character before it. All that normal forms put into another order are such.
    fileprivate var isCombiningMark: Bool {
        // There is none before.
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}
