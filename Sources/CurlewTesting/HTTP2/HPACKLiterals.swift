#if TestKit
/// A minimal HPACK encoder: every field is a literal without indexing and without Huffman coding (RFC 7541, section
/// 6.2.2).
enum HPACKLiterals {
    static func encode(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in [0] + self.string(name) + self.string(value) }
    }

    private static func string(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return self.length(bytes.count) + bytes
    }

    /// An integer with a prefix of seven bits (RFC 7541, section 5.1).
    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var bytes: [UInt8] = [127]
        var rest = count - 127
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }
}
#endif
