extension String {
    /// The text with U+FFFD in the place of control characters: lines of a log, and what a terminal does, are not for a peer to
    /// decide.
    var replacingControlCharacters: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isControl ? "\u{FFFD}" : $0 }))
    }
}

extension Unicode.Scalar {
    /// C0, DEL and C1.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F..<0xA0 ~= value }
}
