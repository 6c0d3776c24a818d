/// A word in the value of curl's `--form`: plain, or in double quotes with a backslash before quotes and backslashes.
enum FormWord {
    static let type = ";type="
    /// The beginnings of what may follow the content of a part.
    static let attributes = [type, ";filename="]

    /// Takes a word, which ends before an attribute or at the end.
    static func take(from rest: inout Substring) -> String {
        if let word = takeQuoted(from: &rest) { return word }
        let end = attributes.compactMap { rest.firstRange(of: $0)?.lowerBound }.min() ?? rest.endIndex
        defer { rest = rest[end...] }
        return String(rest[..<end])
    }

    /// Takes a word in quotes; nil if there is none before an attribute or the end.
    private static func takeQuoted(from rest: inout Substring) -> String? {
        guard rest.first == "\"" else { return nil }
        var word = ""
        var text = rest.dropFirst()
        while let character = text.popFirst() {
            if character == "\\", let next = text.first, next == "\\" || next == "\"" {
                word.append(next)
                text.removeFirst()
            } else if character == "\"" {
                guard text.isEmpty || text.first == ";" else { return nil }
                rest = text
                return word
            } else {
                word.append(character)
            }
        }
        return nil
    }

    /// The text as a word: in quotes if it has characters with a meaning for curl.
    static func quoted(_ text: String) -> String {
        let isPlain = !text.contains { ";,\"\\".contains($0) } && !text.hasPrefix("@") && !text.hasPrefix("<")
        guard !isPlain || text.hasPrefix(" ") || text.hasSuffix(" ") else { return text }
        return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
