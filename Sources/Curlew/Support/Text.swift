internal import Glibc

extension UInt8 {
    /// True if the byte may stand in a token: a method or a field name (RFC 9110 §5.6.2).
    var isTokenByte: Bool {
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

    /// True if the byte may stand in a token68, but for the padding (RFC 9110 §11.2).
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

    /// True if a recipient may keep the byte in a field's value. No sender may write most control characters, but only
    /// NUL, CR and LF are dangerous (RFC 9110 §5.5).
    var isReceivedValueByte: Bool { self != 0 && self != .carriageReturn && self != .lineFeed }

    /// Space or tab.
    var isBlank: Bool { self == .space || self == .tab }
}

extension Sequence<UInt8> {
    /// Two lower-case digits a byte.
    var hexadecimal: String {
        reduce(into: "") { text, byte in
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
    }
}

/// Percent-decoding: bytes out of text with `%` and two hexadecimal digits in it (RFC 3986 §2.1).
enum PercentDecoding {
    /// - Parameter isStrict: Whether a `%` without two digits makes it nil; else it stays as it is.
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

/// Percent-encoding of what is one part of a URI.
enum ComponentEncoding {
    /// Appends bytes, with all but the unreserved characters (RFC 3986 §2.3) encoded.
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
    /// Text in ISO-8859-1: a byte is a scalar.
    init(latin1 bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        self.init(text)
    }

    /// Text in UTF-8 if it can be that, else in ISO-8859-1.
    init(guessing bytes: some Collection<UInt8>) {
        self = String(validating: bytes, as: UTF8.self) ?? String(latin1: bytes)
    }
}

/// The words that the system has for an error number.
package func describe(_ errorNumber: Int32) -> String { String(cString: strerror(errorNumber)) }

extension ArraySlice<UInt8> {
    /// The bytes without the spaces and tabs around them.
    var trimmingBlanks: ArraySlice<UInt8> {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }

    /// - Parameter word: ASCII in lower case.
    func isEqual(ignoringCase word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && hasPrefix(ignoringCase: word)
    }

    /// - Parameter word: ASCII in lower case.
    func hasPrefix(ignoringCase word: StaticString) -> Bool {
        guard count >= word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { zip(self, $0).allSatisfy { $0.lowercasedASCII == $1 } }
    }
}
