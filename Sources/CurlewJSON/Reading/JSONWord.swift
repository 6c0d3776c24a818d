/// Eight bytes of a string, which are examined at a time.
struct JSONWord {
    /// The highest bit of each byte.
    static let highBits: UInt64 = 0x8080_8080_8080_8080
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The bytes; the first has the lowest bits.
    let bits: UInt64

    @inline(__always)
    init(at place: UnsafePointer<UInt8>) { bits = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self) }

    /// The highest bit of each quotation mark, backslash or control character. The lowest set bit is exact; higher ones
    /// may also mark other bytes.
    @inline(__always)
    var ends: UInt64 {
        let quotes = bits ^ (Self.ones &* 0x22)
        let backslashes = bits ^ (Self.ones &* 0x5C)
        let controls = (bits &- Self.ones &* 0x20) & ~bits
        return ((quotes &- Self.ones) & ~quotes | (backslashes &- Self.ones) & ~backslashes | controls)
            & Self.highBits
    }
}
