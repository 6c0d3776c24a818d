/// A validator of UTF-8 that arrives in pieces (RFC 3629 §4). It finds an error at the first byte that shows it.
struct UTF8Validator {
    /// The number of missing bytes of the scalar at the end of the last piece.
    private var missing: UInt8 = 0
    /// The bounds of the next byte. The second byte of some scalars has narrower bounds.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// True if the pieces so far end with a complete scalar.
    var isComplete: Bool { missing == 0 }

    /// Validates the next piece.
    /// - Returns: False if the pieces so far are not the beginning of valid UTF-8.
    mutating func accepts(_ bytes: RawSpan) -> Bool {
        let count = bytes.byteCount
        var offset = 0
        while offset < count {
            if missing == 0 {
                offset = Self.endOfCommonScalars(in: bytes, from: offset)
                guard offset < count else { break }
                guard begin(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) else { return false }
            } else {
                let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                guard byte >= lowest, byte <= highest else { return false }
                lowest = 0x80
                highest = 0xBF
                missing &-= 1
            }
            offset &+= 1
        }
        return true
    }

    /// Begins a scalar beyond ASCII.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            // A lower byte after E0 would make a longer form of a shorter scalar. A higher byte after ED would make a
            // surrogate.
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            // A lower byte after F0 would make a longer form of a shorter scalar. A higher byte after F4 would exceed
            // U+10FFFF.
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }

    /// Skips ASCII eight bytes at a time, and most scalars of two and three bytes. Texts have long runs of such
    /// scalars.
    private static func endOfCommonScalars(in bytes: RawSpan, from start: Int) -> Int {
        let count = bytes.byteCount
        var offset = start
        while offset &+ 8 <= count {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if word & 0x8080_8080_8080_8080 == 0 {
                offset &+= 8
            } else if word & 0x80 == 0 {
                // The ASCII bytes before the first other byte are skipped.
                offset &+= (word & 0x8080_8080_8080_8080).trailingZeroBitCount / 8
            } else if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
                offset &+= 2
            } else if word & 0xC0_C0F0 == 0x80_80E0, word & 0x0F != 0, word & 0x0F != 0x0D {
                offset &+= 3
            } else {
                return offset
            }
        }
        while offset < count, bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) < 0x80 { offset &+= 1 }
        return offset
    }
}
