internal import Curlew

/// Percent-encoding of parts of a URI, and of forms.
enum PercentEncoding {
    /// Encodes all bytes except the unreserved characters of RFC 3986 and the kept ones.
    static func encode(_ bytes: some Sequence<UInt8>, keeping kept: StaticString = "") -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if byte.isUnreserved || kept.withUTF8Buffer({ $0.contains(byte) }) {
                text.append(byte)
            } else {
                append(byte, to: &text)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func encode(_ text: String) -> String { encode(text.utf8) }

    /// Decodes `%` with two digits. A `%` without them is kept.
    /// - Parameter plusIsSpace: True for forms and for queries, in which a plus is a space.
    static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexValue)
            if byte == .percent, digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == .plus ? .space : byte)
            }
        }
        return bytes
    }

    /// Encodes by the rules of forms: a space becomes a plus, and letters, digits and `*-._` are kept (URL Standard,
    /// section 5.2).
    /// - Parameter spaceIsPlus: False to encode a space as `%20`.
    static func encodeForm(_ text: String, spaceIsPlus: Bool = true) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte == .space, spaceIsPlus {
                bytes.append(.plus)
            } else if byte.isLetter || byte.isDigit || "*-._".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text += [.percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
