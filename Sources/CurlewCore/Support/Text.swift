internal import CurlewPlatform

extension UInt8 {
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
    package var isReceivedValueByte: Bool { self != 0 && self != .carriageReturn && self != .lineFeed }

    /// True for a space or a tab.
    package var isBlank: Bool { self == .space || self == .tab }
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
package enum PercentDecoding {
    /// - Parameter isStrict: True if a `%` without two digits makes the result nil; else it is kept.
    package static func bytes(of text: some StringProtocol, isStrict: Bool) -> [UInt8]? {
        bytes(of: Array(text.utf8)[...], isStrict: isStrict)
    }

    package static func bytes(of text: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
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

extension ArraySlice<UInt8> {
    /// The bytes without surrounding spaces and tabs.
    package var trimmingBlanks: ArraySlice<UInt8> {
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
