extension String {
    /// The text with U+FFFD in the place of control characters: lines of a log, and what a terminal does, are not for a peer to
    /// decide.
    package var replacingControlCharacters: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isControl ? "\u{FFFD}" : $0 }))
    }

    /// Text fit for an error: no control characters, no password, at most 100 characters.
    package var printable: String { String(masked.prefix(100)) }

    /// The text without control characters, and with nothing before its last `@`: that may be a password.
    ///
    /// Scalar by scalar, as parsers of URIs read: with a combining mark behind it an `@` is another `Character`.
    private var masked: String {
        let visible = replacingControlCharacters
        guard let at = visible.unicodeScalars.lastIndex(of: "@") else { return visible }
        return "…" + visible[at...]
    }
}

extension Unicode.Scalar {
    /// C0, DEL and C1.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F..<0xA0 ~= value }
}

extension Unicode.Scalar {
    /// True if it goes with the character before it. All that normal forms put into another order are such.
    package var isCombiningMark: Bool {
        // There is none before.
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}
