internal import CurlewPlatform
internal import CurlewSupport

/// The escapes of JSON strings (RFC 8259 §7) that the parser has checked.
enum JSONEscapes {
    /// Writes the text with resolved escapes. The result is never longer than the text, and may overwrite it.
    /// - Returns: The number of written bytes.
    static func resolve(_ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let source = text.baseAddress, let target = output.baseAddress else { return 0 }
        var (from, to) = (0, 0)
        while from < text.count {
            // The bytes before the next escape are copied.
            let run =
                memchr(source + from, Int32(UInt8.backslash), text.count - from).map {
                    $0 - UnsafeMutableRawPointer(mutating: source + from)
                } ?? text.count - from
            memmove(target + to, source + from, run)
            from += run
            to += run
            guard from < text.count else { break }
            let escape = source[from + 1]
            from += 2
            if escape == UInt8(ascii: "u") {
                to += write(scalar(source, &from), to: target + to)
            } else {
                target[to] = character(escape)
                to += 1
            }
        }
        return to
    }

    private static func character(_ escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): .lineFeed
        case UInt8(ascii: "r"): .carriageReturn
        case UInt8(ascii: "t"): .tab
        default: escape
        }
    }

    /// The code point of `\u` and four digits, or of two such escapes that are a surrogate pair.
    private static func scalar(_ source: UnsafePointer<UInt8>, _ from: inout Int) -> UInt32 {
        let first = unit(source + from)
        from += 4
        guard first & 0xF800 == 0xD800 else { return first }
        let second = unit(source + from + 2)
        from += 6
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private static func unit(_ digits: UnsafePointer<UInt8>) -> UInt32 {
        (0..<4).reduce(0) { $0 << 4 | UInt32(digits[$1].hexValue ?? 0) }
    }

    private static func write(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
        func continuation(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
        switch scalar {
        case 0..<0x80:
            target[0] = UInt8(scalar)
            return 1
        case 0x80..<0x800:
            target[0] = 0xC0 | UInt8(scalar >> 6)
            target[1] = continuation(0)
            return 2
        case 0x800..<0x10000:
            target[0] = 0xE0 | UInt8(scalar >> 12)
            target[1] = continuation(6)
            target[2] = continuation(0)
            return 3
        default:
            target[0] = 0xF0 | UInt8(scalar >> 18)
            target[1] = continuation(12)
            target[2] = continuation(6)
            target[3] = continuation(0)
            return 4
        }
    }
}
