#if TestKit
/// Bytes that encode their own position: byte *n* of a body is *n* modulo 251.
///
/// With a prime period, a lost, duplicated or moved piece is detected. A body of any length needs no memory:
///
///     let response = MockResponse(body: .pattern(count: 64 << 20))
///     …
///     #expect(BytePattern.matches(received, at: 0))
public enum BytePattern {
    /// The period after which the bytes repeat.
    public static let period = 251

    /// The bytes of the pattern in `range`.
    public static func bytes(_ range: Range<Int>) -> [UInt8] {
        range.map { UInt8(truncatingIfNeeded: $0 % self.period) }
    }

    /// The first `count` bytes of the pattern.
    public static func bytes(count: Int) -> [UInt8] {
        self.bytes(0..<count)
    }

    /// True if `bytes` equal the pattern from `offset` on.
    public static func matches(_ bytes: some Sequence<UInt8>, at offset: Int) -> Bool {
        var expected = offset % self.period
        for byte in bytes {
            guard Int(byte) == expected else { return false }
            expected = expected + 1 == self.period ? 0 : expected + 1
        }
        return true
    }
}
#endif
