/// A reader of the string literals in Swift source.
///
/// The scanner skips comments. It does not recognize literals of regular expressions.
struct LiteralScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var literals: [Prose] = []

    private init(_ source: String) { bytes = Array(source.utf8) }

    /// The literals that are written in one line and have at least two words, in the order of their ends.
    ///
    /// An ellipsis replaces each interpolation, and a space each escaped character. A literal of several lines is left
    /// out, because it contains another language, such as SQL.
    static func literals(in source: String) -> [Prose] {
        var scanner = LiteralScanner(source)
        scanner.readCode(isInterpolation: false)
        return scanner.literals
    }

    /// Reads code up to the end of the source, or up to the parenthesis that closes an interpolation.
    private mutating func readCode(isInterpolation: Bool) {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "/"): readSlash()
            case UInt8(ascii: "#"), UInt8(ascii: "\""): readQuotes()
            case UInt8(ascii: "(") where isInterpolation:
                depth += 1
                advance()
            case UInt8(ascii: ")") where isInterpolation:
                advance()
                if depth == 0 { return }
                depth -= 1
            default: advance()
            }
        }
    }

    /// Skips a comment, or a slash that does not begin one.
    private mutating func readSlash() {
        let end = take("//") ? "\n" : take("/*") ? "*/" : "/"
        while position < bytes.count, !take(end) { advance() }
    }

    /// Reads a literal, or number signs that do not begin one.
    private mutating func readQuotes() {
        let start = position
        while take("#") {}
        let signs = String(repeating: "#", count: position - start)
        if take("\"\"\"") {
            readLiteral(quotes: "\"\"\"", signs)
        } else if take("\"") {
            readLiteral(quotes: "\"", signs)
        }
    }

    /// Reads the rest of a literal after its opening quotes.
    private mutating func readLiteral(quotes: String, _ signs: String) {
        let number = line
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\""), take(quotes + signs) { break }
            if byte == UInt8(ascii: "\\"), take("\\" + signs) {
                text += readEscape()
            } else {
                text.append(byte)
                advance()
            }
        }
        let words = String(decoding: text, as: UTF8.self)
        guard quotes.count == 1, words.split(separator: " ").count > 1 else { return }
        literals.append(Prose(.literal, number: number, lines: [words[...]]))
    }

    /// Reads an interpolation or an escaped character, and returns its replacement.
    private mutating func readEscape() -> [UInt8] {
        if take("(") {
            readCode(isInterpolation: true)
            return Array("…".utf8)
        }
        if position < bytes.count { advance() }
        return [UInt8(ascii: " ")]
    }

    private mutating func advance() {
        if bytes[position] == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    /// Reads a text if it is the next one.
    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        for _ in text.utf8 { advance() }
        return true
    }
}
