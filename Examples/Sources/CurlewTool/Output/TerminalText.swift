/// Text for a terminal, made from the bytes of a peer as they come.
///
/// Control characters are shown and not obeyed: ESC is `^[`, and an override of the direction is `<U+202E>`. Line feeds
/// and tabs stay. Invalid UTF-8, which a terminal may take for control characters, becomes U+FFFD.
struct TerminalText: Sendable {
    /// The beginning of a character of several bytes.
    private var pending: [UInt8] = []
    private var expected = 0
    private var hasCarriageReturn = false

    /// The text of further bytes.
    mutating func text(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        for byte in bytes { append(byte, to: &text) }
        return text
    }

    /// The text of an unfinished character at the end.
    mutating func finish() -> [UInt8] {
        var text: [UInt8] = []
        endCarriageReturn(before: 0, &text)
        if !pending.isEmpty { Self.appendReplacement(to: &text) }
        pending = []
        return text
    }

    /// Adds the text of a byte to a text.
    mutating func append(_ byte: UInt8, to text: inout [UInt8]) {
        if hasCarriageReturn { endCarriageReturn(before: byte, &text) }
        if !pending.isEmpty {
            if byte & 0xC0 == 0x80 {
                pending.append(byte)
                if pending.count == expected { endScalar(&text) }
                return
            }
            pending = []
            Self.appendReplacement(to: &text)
        }
        switch byte {
        case 0x20..<0x7F, 0x0A, 0x09: text.append(byte)
        case 0x0D: hasCarriageReturn = true
        case ..<0x20: text += [UInt8(ascii: "^"), byte + 0x40]
        case 0x7F: text += "^?".utf8
        case 0xC2...0xDF: begin(byte, 2)
        case 0xE0...0xEF: begin(byte, 3)
        case 0xF0...0xF4: begin(byte, 4)
        default: Self.appendReplacement(to: &text)
        }
    }

    private mutating func begin(_ byte: UInt8, _ count: Int) {
        pending = [byte]
        expected = count
    }

    private mutating func endScalar(_ text: inout [UInt8]) {
        defer { pending = [] }
        guard let scalar = String(validating: pending, as: UTF8.self)?.unicodeScalars.first else {
            return Self.appendReplacement(to: &text)
        }
        switch scalar.properties.generalCategory {
        // The joiners make one picture out of several.
        case .format where scalar == "\u{200D}" || scalar == "\u{200C}": text += pending
        case .control, .format, .lineSeparator, .paragraphSeparator:
            text += "<U+\(String(scalar.value, radix: 16, uppercase: true))>".utf8
        default: text += pending
        }
    }

    /// Drops the carriage return of a line end, and shows another one.
    private mutating func endCarriageReturn(before byte: UInt8, _ text: inout [UInt8]) {
        if hasCarriageReturn, byte != 0x0A { text += "^M".utf8 }
        hasCarriageReturn = false
    }

    private static func appendReplacement(to text: inout [UInt8]) { text += "\u{FFFD}".utf8 }
}
