internal import Glibc

extension UInt8 {
    package static let colon = UInt8(ascii: ":")
    package static let slash = UInt8(ascii: "/")
    package static let questionMark = UInt8(ascii: "?")
    package static let numberSign = UInt8(ascii: "#")
    package static let at = UInt8(ascii: "@")
    package static let openBracket = UInt8(ascii: "[")
    package static let closeBracket = UInt8(ascii: "]")
    package static let space = UInt8(ascii: " ")
    package static let tab = UInt8(ascii: "\t")
    package static let carriageReturn = UInt8(ascii: "\r")
    package static let lineFeed = UInt8(ascii: "\n")
    package static let comma = UInt8(ascii: ",")
    package static let semicolon = UInt8(ascii: ";")
    package static let equals = UInt8(ascii: "=")
    package static let quote = UInt8(ascii: "\"")
    package static let percent = UInt8(ascii: "%")
    package static let backslash = UInt8(ascii: "\\")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")

    package var isLetter: Bool { (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") }
    package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isHexDigit: Bool { hexValue != nil }

    /// The value of an ASCII hexadecimal digit.
    package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// True if the byte may stand in a token: a method or a field name (RFC 9110 §5.6.2).
    package var isTokenByte: Bool {
        if isLetter || isDigit { return true }
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default:
            return false
        }
    }

    /// True if the byte may stand in a token68 before its padding (RFC 9110 §11.2).
    var isToken68Byte: Bool {
        if isLetter || isDigit { return true }
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), .slash:
            return true
        default: return false
        }
    }

    /// True if the byte may stand in a field's value: visible text, spaces, tabs and bytes above ASCII (RFC 9110 §5.5).
    var isFieldValueByte: Bool { self >= 0x20 ? self != 0x7F : self == .tab }

    /// True if a recipient may keep the byte in a field's value. Senders must not write most control characters, but
    /// only NUL, CR and LF are dangerous (RFC 9110 §5.5).
    var isReceivedValueByte: Bool { self != 0 && self != .carriageReturn && self != .lineFeed }

    /// True for a space or a tab.
    package var isBlank: Bool { self == .space || self == .tab }
}

extension String {
    /// The text with U+FFFD in place of control characters, so that a peer cannot control log lines or a terminal.
    var replacingControlCharacters: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isControl ? "\u{FFFD}" : $0 }))
    }
}

extension Unicode.Scalar {
    /// True for C0, DEL and C1 characters.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F..<0xA0 ~= value }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two for each byte.
    package var hexadecimal: String {
        reduce(into: "") { text, byte in
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
    }
}

/// Percent-decoding: the bytes of text in which `%` and two hexadecimal digits represent a byte (RFC 3986 §2.1).
enum PercentDecoding {
    /// - Parameter isStrict: True if a `%` without two digits makes the result nil; else it is kept.
    static func bytes(of text: some StringProtocol, isStrict: Bool) -> [UInt8]? {
        bytes(of: Array(text.utf8)[...], isStrict: isStrict)
    }

    static func bytes(of text: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == .percent else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap(\.hexValue)
            if digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else if isStrict {
                return nil
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

/// Percent-encoding of a single component of a URI.
enum ComponentEncoding {
    /// Appends bytes, and encodes all except the unreserved characters (RFC 3986 §2.3).
    static func append(_ bytes: some Sequence<UInt8>, to text: inout String) {
        for byte in bytes {
            if byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += byte < 16 ? "%0" : "%"
                text += String(byte, radix: 16, uppercase: true)
            }
        }
    }
}

extension String {
    /// The text of ISO-8859-1 bytes: each byte is a scalar.
    init(latin1 bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        self.init(text)
    }

    /// The text of the bytes as UTF-8 if valid, else as ISO-8859-1.
    init(guessing bytes: some Collection<UInt8>) {
        self = String(validating: bytes, as: UTF8.self) ?? String(latin1: bytes)
    }
}

/// The system's text for an error number.
package func describe(_ errorNumber: Int32) -> String { String(cString: strerror(errorNumber)) }

extension Unicode.Scalar {
    /// True if the scalar combines with the character before it. All scalars that normalization reorders are of this
    /// kind.
    var isCombiningMark: Bool {
        // The first combining mark is U+0300.
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without surrounding spaces and tabs.
    var trimmingBlanks: ArraySlice<UInt8> {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }

    /// - Parameter word: A word in ASCII and lower case.
    func isEqual(ignoringCase word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && hasPrefix(ignoringCase: word)
    }

    /// - Parameter word: A word in ASCII and lower case.
    func hasPrefix(ignoringCase word: StaticString) -> Bool {
        guard count >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { zip(self, $0).allSatisfy { $0.lowercasedASCII == $1 } }
    }
}

extension UInt8 {
    /// The byte in lower case if it is an ASCII letter, else unchanged.
    package var lowercasedASCII: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}
