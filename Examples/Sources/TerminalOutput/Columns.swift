/// The columns that text takes on a terminal.
package enum Columns {
    package static func width(of text: some StringProtocol) -> Int {
        text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
    }

    /// The longest beginning that fits into the columns.
    package static func prefix(of text: some StringProtocol, _ columns: Int) -> String {
        var kept = String.UnicodeScalarView()
        var room = columns
        for scalar in text.unicodeScalars {
            room -= width(of: scalar)
            guard room >= 0 else { break }
            kept.append(scalar)
        }
        return String(kept)
    }

    /// The text in exactly these columns: filled with spaces, or shortened to a beginning and an ellipsis.
    package static func fitted(_ text: String, _ columns: Int) -> String {
        let width = width(of: text)
        if width <= columns { return text + String(repeating: " ", count: columns - width) }
        guard columns > 0 else { return "" }
        let kept = prefix(of: text, columns - 1) + "…"
        return kept + String(repeating: " ", count: columns - Self.width(of: kept))
    }

    /// The text in lines of at most these columns, broken at spaces where possible.
    package static func wrapped(_ text: String, _ columns: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var word = String(word)
            if !line.isEmpty, width(of: line) + 1 + width(of: word) <= columns {
                line += " \(word)"
                continue
            }
            if !line.isEmpty { lines.append(line) }
            while width(of: word) > columns, columns > 1 {
                let part = prefix(of: word, columns)
                guard !part.isEmpty else { break }
                lines.append(part)
                word = String(word.unicodeScalars.dropFirst(part.unicodeScalars.count))
            }
            line = word
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        return lines
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    /// The blocks of wide characters: East Asian scripts and pictures.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
        0x20000...0x3FFFD,
    ]
}
