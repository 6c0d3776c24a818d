extension String {
    /// The text with U+FFFD in place of control characters, so that a peer cannot control log lines or a terminal.
    package var replacingControlCharacters: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isControl ? "\u{FFFD}" : $0 }))
    }

    /// The text in a form that is safe in an error: no control characters, no password, at most 100 characters.
    package var printable: String { String(masked.prefix(100)) }

    /// The text without control characters and without the part before its last `@`, which may be a password.
    ///
    /// It is read scalar by scalar, like a URL: an `@` with a combining mark behind it is another `Character`.
    private var masked: String {
        let visible = replacingControlCharacters
        guard let at = visible.unicodeScalars.lastIndex(of: "@") else { return visible }
        return "…" + visible[at...]
    }
}

extension Unicode.Scalar {
    /// True for C0, DEL and C1 characters.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F..<0xA0 ~= value }
}

extension Unicode.Scalar {
    /// True if the scalar combines with the character before it. All scalars that normalization reorders are of this
    /// kind.
    package var isCombiningMark: Bool {
        // The first combining mark is U+0300.
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}
