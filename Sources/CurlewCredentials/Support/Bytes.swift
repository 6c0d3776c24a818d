internal import COpenSSL
internal import Curlew

extension UInt8 {
    static let plus = UInt8(ascii: "+")
    static let minus = UInt8(ascii: "-")
    static let dot = UInt8(ascii: ".")
    static let ampersand = UInt8(ascii: "&")

    var isLowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
    /// True for a printable character of ASCII except the space.
    var isVisible: Bool { self > 0x20 && self < 0x7F }
    /// True for an unreserved character of a URI (RFC 3986 §2.3).
    var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }
}

extension String {
    /// True if both texts have the same bytes, regardless of the case of ASCII letters.
    func hasSameBytes(ignoringASCIICaseOf other: String) -> Bool {
        utf8.lazy.map(\.lowercasedASCII).elementsEqual(other.utf8.lazy.map(\.lowercasedASCII))
    }

    /// The text with ASCII letters in lower case, else unchanged.
    var lowercasedASCII: String { String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self) }

    /// True if the text is not empty and has only printable characters of ASCII without spaces.
    var isVisibleASCII: Bool { !isEmpty && utf8.allSatisfy(\.isVisible) }

    /// True if every byte is a printable character of ASCII or a space.
    var isPrintableASCII: Bool { utf8.allSatisfy { $0.isVisible || $0 == .space } }
}

extension Collection<UInt8> where SubSequence: Collection<UInt8>, SubSequence.SubSequence == SubSequence {
    /// The bytes without surrounding spaces and tabs.
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

extension [UInt8] {
    /// True if both have the same bytes. The time of the comparison depends only on the length.
    func isSameInConstantTime(as other: [UInt8]) -> Bool {
        count == other.count && CRYPTO_memcmp(self, other, count) == 0
    }

    /// Overwrites the bytes with zeros, so that no secret stays in freed memory. The array must not share its storage:
    /// otherwise only a copy is overwritten.
    mutating func cleanse() {
        withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension OpenSSLLibrary {
    /// The text of OpenSSL's newest error. The queue of errors is cleared.
    static func takeReason() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "OpenSSL gives no reason" }
        return String(cString: reason)
    }
}
