/// Percent-encoding of values in queries and forms: all bytes but the unreserved characters of RFC 3986. A space is a
/// plus, as in curl and HTTPie.
enum PercentEncoding {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// - Parameter space: The text for a space.
    static func encoded(_ bytes: [UInt8], space: String = "+") -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if unreserved.contains(byte) {
                text.append(byte)
            } else if byte == 0x20 {
                text += space.utf8
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
