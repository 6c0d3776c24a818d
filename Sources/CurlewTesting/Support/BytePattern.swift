#if TestKit
/// Bytes that say where they are: byte *n* of a body is *n* modulo 251.
///
/// A prime period makes a lost, doubled or moved piece show, and a body of any length costs no memory:
///
///     let response = MockResponse(body: .pattern(count: 64 << 20))
///     …
///     #expect(BytePattern.matches(received, at: 0))
public enum BytePattern {
    /// The length after which the bytes repeat.
    public static let period = 251

    /// The bytes of `range` of the pattern.
    public static func bytes(_ range: Range<Int>) -> [UInt8] {
        range.map { UInt8(truncatingIfNeeded: $0 % self.period) }
    }

    /// The first `count` bytes of the pattern.
    public static func bytes(count: Int) -> [UInt8] {
        self.bytes(0..<count)
    }

    /// True if `bytes` are what the pattern holds from `offset` on.
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
