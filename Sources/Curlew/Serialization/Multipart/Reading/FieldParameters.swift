/// A field's value with parameters behind it, as Content-Type and Content-Disposition have them
/// (RFC 9110 §5.6.6, RFC 6266 §4.1).
///
/// It reads what is there: what cannot be read is passed over.
struct FieldParameters: Sendable {
    /// What stands before the first semicolon.
    let value: String
    /// Names, in small letters, and values, in their order.
    private(set) var parameters: [(name: String, value: String)] = []

    init(_ text: String) {
        var rest = Array(text.utf8)[...]
        value = Self.trimmed(Self.take(&rest) { $0 != Self.semicolon })
        while rest.first == Self.semicolon {
            rest = rest.dropFirst()
            let name = Self.trimmed(Self.take(&rest) { $0 != Self.semicolon && $0 != Self.equals }).lowercased()
            guard rest.first == Self.equals else { continue }
            rest = rest.dropFirst()
            rest = rest.drop { $0 == .space || $0 == .tab }
            let value =
                rest.first == Self.quote
                ? Self.takeQuoted(&rest) : Self.trimmed(Self.take(&rest) { $0 != Self.semicolon })
            if !name.isEmpty { parameters.append((name, value)) }
        }
    }

    /// The first parameter of the name.
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// A parameter as it is written: quoted unless it is a token.
    static func written(_ name: String, _ value: String) -> String {
        if !value.isEmpty, value.utf8.allSatisfy(\.isTokenByte) { return "\(name)=\(value)" }
        var text = "\(name)=\""
        for character in value.unicodeScalars {
            if character == "\"" || character == "\\" { text += "\\" }
            text.unicodeScalars.append(character)
        }
        return text + "\""
    }

    private static let semicolon = UInt8(ascii: ";")
    private static let equals = UInt8(ascii: "=")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    private static func take(
        _ rest: inout ArraySlice<UInt8>, while isWanted: (UInt8) -> Bool
    ) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest[taken.endIndex...]
        return taken
    }

    /// A quoted string. A backslash takes its meaning from a quote or a backslash only, as in the paths that old browsers
    /// gave for file names it stands for itself.
    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String {
        rest = rest.dropFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst(), byte != quote {
            if byte == backslash, let next = rest.first, next == quote || next == backslash {
                bytes.append(next)
                rest = rest.dropFirst()
            } else {
                bytes.append(byte)
            }
        }
        _ = take(&rest) { $0 != semicolon }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let isBlank = { (byte: UInt8) in byte == .space || byte == .tab }
        let start = bytes.drop(while: isBlank)
        let end = start.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start.startIndex
        return String(decoding: start[..<end], as: UTF8.self)
    }
}

extension FieldParameters {
    /// The value of an extended parameter (RFC 8187 §3.2.1), such as `filename*=UTF-8''%E2%82%AC`: nil if it is not there,
    /// is not UTF-8, or is written wrong.
    func extended(_ name: String) -> String? {
        guard let text = self["\(name)*"] else { return nil }
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        var bytes: [UInt8] = []
        var rest = parts[2].utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
