internal import COpenSSL

extension UInt8 {
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let percent = UInt8(ascii: "%")
    static let plus = UInt8(ascii: "+")
    static let minus = UInt8(ascii: "-")
    static let dot = UInt8(ascii: ".")
    static let slash = UInt8(ascii: "/")
    static let colon = UInt8(ascii: ":")
    static let semicolon = UInt8(ascii: ";")
    static let comma = UInt8(ascii: ",")
    static let equals = UInt8(ascii: "=")
    static let ampersand = UInt8(ascii: "&")
    static let questionMark = UInt8(ascii: "?")
    static let numberSign = UInt8(ascii: "#")

    var isBlank: Bool { self == .space || self == .tab }
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isLowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
    var isLetter: Bool { (self | 0x20).isLowercase }
    /// A printable character of ASCII without the space.
    var isVisible: Bool { self > 0x20 && self < 0x7F }
    /// An unreserved character of a URI (RFC 3986 §2.3).
    var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }
    /// A character of a token (RFC 9110 §5.6.2).
    var isTokenByte: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }

    var lowercasedASCII: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// True if both texts have the same bytes in UTF-8. `==` takes canonically equivalent texts for equal.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// True if both texts have the same bytes but for the case of letters of ASCII.
    func hasSameBytes(ignoringASCIICaseOf other: String) -> Bool {
        utf8.lazy.map(\.lowercasedASCII).elementsEqual(other.utf8.lazy.map(\.lowercasedASCII))
    }

    /// The text with letters of ASCII in lower case, and all else as it is.
    var lowercasedASCII: String { String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self) }

    /// True if the text is not empty and has only printable characters of ASCII without spaces.
    var isVisibleASCII: Bool { !isEmpty && utf8.allSatisfy(\.isVisible) }

    /// True if every byte is a printable character of ASCII or a space.
    var isPrintableASCII: Bool { utf8.allSatisfy { $0.isVisible || $0 == .space } }
}

extension Collection<UInt8> where SubSequence: Collection<UInt8>, SubSequence.SubSequence == SubSequence {
    /// The bytes without the spaces and tabs around them.
    var trimmingBlanks: SubSequence {
        var rest = self[...]
        while let first = rest.first, first.isBlank { rest = rest.dropFirst() }
        var end = rest.endIndex
        var last = rest.startIndex
        for index in rest.indices where !rest[index].isBlank { last = rest.index(after: index) }
        if last < end { end = last }
        return rest[rest.startIndex..<end]
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    var hexadecimal: String {
        var text = ""
        for byte in self {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return text
    }
}

extension [UInt8] {
    /// True if both have the same bytes. The time that the comparison takes depends on the length alone.
    func isSameInConstantTime(as other: [UInt8]) -> Bool {
        count == other.count && CRYPTO_memcmp(self, other, count) == 0
    }
}
