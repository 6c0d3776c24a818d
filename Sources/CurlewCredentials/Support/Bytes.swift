internal import COpenSSL
internal import Curlew

extension UInt8 {
    static let plus = UInt8(ascii: "+")
    static let minus = UInt8(ascii: "-")
    static let dot = UInt8(ascii: ".")
    static let ampersand = UInt8(ascii: "&")

    var isLowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }
    /// A printable character of ASCII without the space.
    var isVisible: Bool { self > 0x20 && self < 0x7F }
    /// An unreserved character of a URI (RFC 3986 §2.3).
    var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }
}

extension String {
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

extension [UInt8] {
    /// True if both have the same bytes. The time that the comparison takes depends on the length alone.
    func isSameInConstantTime(as other: [UInt8]) -> Bool {
        count == other.count && CRYPTO_memcmp(self, other, count) == 0
    }

    /// Overwrites the bytes with zeros, so that a secret does not stay in memory that is freed. The array must be the
    /// only one that holds them: a copy is overwritten otherwise.
    mutating func cleanse() {
        withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension OpenSSLLibrary {
    /// The newest error of OpenSSL in words; the queue of errors is empty afterwards.
    static func takeReason() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "OpenSSL gives no reason" }
        return String(cString: reason)
    }
}
