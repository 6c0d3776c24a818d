internal import Curlew

/// A scanner of the value of a field: tokens, quoted strings and lists (RFC 9110 §5.6).
struct FieldScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ value: String) { bytes = Array(value.utf8) }

    var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Skips spaces and tabs.
    mutating func skipSpace() {
        while let next, next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { position += 1 }
    }

    /// Skips the next character if it is `character`.
    ///
    /// - Returns: True if the character was skipped.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Reads a token; nil if the next character is not part of a token.
    mutating func token() -> String? {
        let start = position
        while let next, next.isTokenByte { position += 1 }
        return position == start ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Reads a quoted string and removes its quotes and escapes; nil if no complete quoted string begins here.
    mutating func quotedString() -> String? {
        guard take("\"") else { return nil }
        var value: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = next else { return nil }
                position += 1
                value.append(escaped)
            default: value.append(byte)
            }
        }
        return nil
    }

    /// The elements of a list of tokens; nil if an element is not a token. Empty elements are skipped.
    static func tokens(_ values: [String]) -> [String]? {
        var tokens: [String] = []
        for value in values {
            var scanner = FieldScanner(value)
            while true {
                scanner.skipSpace()
                if scanner.take(",") { continue }
                guard !scanner.isAtEnd else { break }
                guard let token = scanner.token() else { return nil }
                tokens.append(token)
                scanner.skipSpace()
                guard scanner.isAtEnd || scanner.take(",") else { return nil }
            }
        }
        return tokens
    }
}

extension String {
    /// True if the text is a token (RFC 9110 §5.6.2).
    var isToken: Bool { !isEmpty && utf8.allSatisfy(\.isTokenByte) }
}
