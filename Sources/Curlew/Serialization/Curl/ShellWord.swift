/// A word of a POSIX shell.
enum ShellWord {
    /// The text as one word: in single quotes, unless it is plain. Nothing in it means anything to the shell.
    static func quoted(_ text: String) -> String {
        guard !text.isEmpty, text.utf8.allSatisfy(isPlain) else {
            var quoted = "'"
            for character in text.unicodeScalars {
                if character == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(character) }
            }
            return quoted + "'"
        }
        return text
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"), .colon, .at, UInt8(ascii: ","),
            UInt8(ascii: "+"), UInt8(ascii: "%"):
            true
        default: byte.isLetter || byte.isDigit
        }
    }
}
