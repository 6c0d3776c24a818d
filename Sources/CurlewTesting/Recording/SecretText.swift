#if TestKit
internal import Curlew

/// A masker of values with secret names in URLs, forms, fields and JSON.
///
/// ``Recording/mask`` replaces the values; all other bytes stay unchanged. The masker scans bytes and ignores the
/// structure, so that it also finds secrets in a truncated body.
struct SecretText {
    private let names: Set<String>

    init(_ names: Set<String>) {
        self.names = Set(names.map { $0.lowercased() })
    }

    /// The URL without user information, without its fragment, and with masked values of secret query items.
    func maskedURL(_ url: String) -> String {
        let text = url.prefix { $0 != "#" }
        return self.string(self.maskedPairs(Array(Self.withoutUserInformation(text).utf8), ends: Self.itemEnds))
    }

    /// The value of a field, or other text, with the URLs and pairs in it masked.
    func maskedValue(_ text: String) -> String {
        let bytes = Array(Self.withoutUserInformation(text[...]).utf8)
        return self.string(self.maskedPairs(bytes, ends: Self.itemEnds + Array("> \"".utf8)))
    }

    /// The body with its secrets masked: those of a form, or of JSON members anywhere in the body.
    func maskedBody(_ bytes: [UInt8], isForm: Bool) -> [UInt8] {
        isForm ? self.maskedPairs(bytes, ends: Self.itemEnds) : self.maskedMembers(bytes)
    }

    private func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Pairs

    private static let mask = Array(Recording.mask.utf8)
    private static let itemEnds = Array("&#".utf8)
    /// The bytes that can precede a name.
    private static let starts = Array("?&#;, <\"'".utf8)

    /// The bytes with the values of secret `name=value` pairs masked.
    private func maskedPairs(_ bytes: [UInt8], ends: [UInt8]) -> [UInt8] {
        var masked: [UInt8] = []
        var start = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if Self.starts.contains(byte) {
                masked += bytes[start..<index]
                start = index
            } else if byte == UInt8(ascii: "="), self.isSecret(pairName: bytes[start..<index - 1]) {
                masked += bytes[start..<index] + Self.mask
                // A quoted value may contain any byte except a quotation mark.
                let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
                let valueEnds = isQuoted ? [UInt8(ascii: "\"")] : ends
                if isQuoted { index += 1 }
                while index < bytes.count, !valueEnds.contains(bytes[index]) { index += 1 }
                if isQuoted { index += 1 }
                start = min(index, bytes.count)
            }
        }
        return masked + bytes[min(start, bytes.count)...]
    }

    /// True for names such as `token`, `%74oken` and `user[token]`.
    private func isSecret(pairName bytes: ArraySlice<UInt8>) -> Bool {
        // A longer text cannot be the name of a secret.
        guard bytes.count <= 256 else { return false }
        let name = String(decoding: Self.percentDecoded(bytes), as: UTF8.self).lowercased()
        if self.names.contains(name) { return true }
        return name.split { $0 == "[" || $0 == "]" }.last.map { self.names.contains(String($0)) } ?? false
    }

    private static func percentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                decoded.append(code)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// The text with `***@` in place of the user information of its URLs.
    private static func withoutUserInformation(_ text: Substring) -> String {
        var kept = ""
        var rest = text
        // Bytes are searched: in Swift's text a slash and a combining mark after it are one character.
        while let slashes = rest.utf8.firstRange(of: "//".utf8) {
            let authority = rest[slashes.upperBound...].utf8.prefix { !"/?# <>\"".utf8.contains($0) }
            kept += rest[..<slashes.upperBound]
            if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
                kept += Recording.mask
                rest = rest[at...]
            } else {
                rest = rest[slashes.upperBound...]
            }
        }
        return kept + rest
    }

    // MARK: JSON

    /// The bytes with the values of secret members masked.
    private func maskedMembers(_ bytes: [UInt8]) -> [UInt8] {
        var masked: [UInt8] = []
        var scan = JSONScan(bytes: bytes)
        var start = 0
        while scan.skip(to: UInt8(ascii: "\"")) {
            guard let name = scan.string() else { continue }
            guard scan.colon() else {
                // In text that is not JSON, the end of this string may be the beginning of another one.
                scan.position -= 1
                continue
            }
            guard self.names.contains(name.lowercased()) else { continue }
            masked += bytes[start..<scan.position] + Array("\"\(Recording.mask)\"".utf8)
            scan.skipValue()
            start = scan.position
        }
        return masked + bytes[start...]
    }
}

/// A position in text that may be JSON or contain JSON.
private struct JSONScan {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var byte: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    /// Moves to the next byte with this value; returns false at the end.
    mutating func skip(to wanted: UInt8) -> Bool {
        while let byte, byte != wanted { self.position += 1 }
        return self.byte != nil
    }

    /// Moves past the string that begins here. A string ends with its line at the latest, so that an extra quotation
    /// mark, as in prose, does not swap strings and the text between them.
    ///
    /// - Returns: The text of the string; nil if it has no end.
    mutating func string() -> String? {
        let start = self.position
        self.position += 1
        while let byte, byte != UInt8(ascii: "\n") {
            self.position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") {
                let literal = self.bytes[start..<self.position]
                guard literal.contains(UInt8(ascii: "\\")) else {
                    return String(decoding: literal.dropFirst().dropLast(), as: UTF8.self)
                }
                return (try? JSONValue(parsing: Array(literal)))?.stringValue ?? ""
            }
        }
        self.position = min(self.position, self.bytes.count)
        return nil
    }

    /// Moves past a colon and the space around it, if a colon follows.
    mutating func colon() -> Bool {
        let start = self.position
        self.skipSpace()
        guard self.byte == UInt8(ascii: ":") else {
            self.position = start
            return false
        }
        self.position += 1
        self.skipSpace()
        return true
    }

    /// Moves past the value that begins here, or to the end if the value is truncated.
    mutating func skipValue() {
        var depth = 0
        repeat {
            switch self.byte {
            case nil: return
            case UInt8(ascii: "\""): _ = self.string()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                self.position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                self.position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"),
                UInt8(ascii: "\t"):
                self.position += 1
            default: self.skipScalar()
            }
        } while depth > 0
    }

    /// Moves past a number or a word.
    private mutating func skipScalar() {
        let ends = Array(",:]}[{\" \n\r\t".utf8)
        while let byte, !ends.contains(byte) { self.position += 1 }
    }

    private mutating func skipSpace() {
        while let byte, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { self.position += 1 }
    }
}
#endif
