/// A word quoted for a POSIX shell.
enum ShellWord {
    /// The text as one word. Control characters and marks of direction are written as escapes, so that a terminal does
    /// not obey them.
    static func quoted(_ word: String) -> String {
        if !word.isEmpty, word.utf8.allSatisfy({ plain.contains($0) }) { return word }
        return "'\(word.unicodeScalars.map { text(of: $0) }.joined())'"
    }

    private static func text(of scalar: Unicode.Scalar) -> String {
        if scalar == "'" { return #"'\''"# }
        guard scalar != "\n", scalar != "\t" else { return String(scalar) }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            let escapes = String(scalar).utf8.map { byte in
                let digits = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
            return #"'"$(printf '\#(escapes.joined())')"'"#
        default: return String(scalar)
        }
    }

    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-".utf8)
}
