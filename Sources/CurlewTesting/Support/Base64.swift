#if TestKit
/// The decoder of RFC 4648, section 4; other characters are skipped.
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func decode(_ text: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        var accumulator: UInt32 = 0
        var bits = 0
        for digit in text.utf8 {
            guard let value = self.digits.firstIndex(of: digit) else { continue }
            accumulator = (accumulator << 6 | UInt32(value)) & 0xffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
            }
        }
        return bytes
    }
}
#endif
