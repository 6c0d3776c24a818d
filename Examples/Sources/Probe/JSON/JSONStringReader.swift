/// Reads a string of JSON text, from after its opening quote to after its closing one.
struct JSONStringReader {
    /// The reason of an error in the string.
    struct Reason: Error {
        let text: String
    }

    let bytes: [UInt8]
    private(set) var position: Int

    init(bytes: [UInt8], position: Int) {
        self.bytes = bytes
        self.position = position
    }

    mutating func read() throws -> String {
        let start = position
        var hasEscapes = false
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Reason(text: "a string holds a control character") }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                position += 1
            }
            position += 1
        }
        guard position < bytes.count else { throw Reason(text: "a string has no end") }
        let raw = bytes[start..<position]
        position += 1
        return try text(hasEscapes ? Self.unescaped(raw) : raw)
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func text(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Reason(text: "a string is not UTF-8") }
        return text
    }

    private static func unescaped(_ raw: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        var text: ArraySlice<UInt8> = []
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text.append(contentsOf: String(try scalar(&rest)).utf8)
            case let byte? where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
                text.append(byte)
            default: throw Reason(text: "a string holds an unknown escape")
            }
        }
        return text
    }

    /// A code point written as `\uXXXX`, or as two of them. Half of a pair is not a code point, and a Swift string
    /// cannot hold it.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) throws -> Character {
        let first = try unit(&rest)
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        guard UTF16.isLeadSurrogate(first), rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u")
        else { throw halfPair }
        let second = try unit(&rest)
        let value = 0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF))
        guard UTF16.isTrailSurrogate(second), let scalar = Unicode.Scalar(value) else { throw halfPair }
        return Character(scalar)
    }

    private static let halfPair = Reason(text: "a string holds half of a surrogate pair")

    private static func unit(_ rest: inout ArraySlice<UInt8>) throws -> UInt16 {
        let digits = rest.prefix(4)
        let isHexadecimal = digits.count == 4 && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        guard isHexadecimal, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw Reason(text: "a string holds an unknown escape")
        }
        rest = rest.dropFirst(4)
        return unit
    }
}
