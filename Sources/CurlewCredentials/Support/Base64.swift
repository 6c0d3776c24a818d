internal import Curlew

/// Base 64 (RFC 4648 §4), and the alphabet for URLs without padding (§5).
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String { encode(bytes, standard, isPadded: true) }

    static func encodeForURL(_ bytes: [UInt8]) -> String { encode(bytes, forURL, isPadded: false) }

    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let forURL = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], isPadded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let value = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                if position <= group.count {
                    text.append(alphabet[Int(value >> UInt32(18 - 6 * position) & 63)])
                } else if isPadded {
                    text.append(.equals)
                }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes the standard alphabet. Padding may be absent, and unused bits may be set (RFC 9651 §4.2.7).
    /// - Returns: nil for any other character, padding inside the text, or an impossible length.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = Array(text.prefix { $0 != .equals })
        let padding = text.count - digits.count
        guard text.dropFirst(digits.count).allSatisfy({ $0 == .equals }), digits.count % 4 != 1,
            padding == 0 || (padding <= 2 && text.count.isMultiple(of: 4))
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var value: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let six = sixBits(digit) else { return nil }
            value = value << 6 | six
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
            }
        }
        return bytes
    }

    private static func sixBits(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case .plus: 62
        case .slash: 63
        default: nil
        }
    }
}
