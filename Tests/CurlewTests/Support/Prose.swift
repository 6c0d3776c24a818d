import Foundation

/// A comment, a string literal, or the name of a test or suite: a text that is read without the code beside it.
struct Prose: Sendable {
    enum Kind: Sendable { case innerComment, docComment, sectionMark, name, literal }

    let kind: Kind
    /// The number of the first line in its file.
    let number: Int
    /// The lines without the marks of a comment.
    private(set) var lines: [Substring]
    /// The first line of code after a doc comment, without attributes.
    private(set) var declaration = Substring()

    init(_ kind: Kind, number: Int = 1, lines: [Substring]) {
        self.kind = kind
        self.number = number
        self.lines = lines
    }

    /// The comments and names of a Swift file.
    static func texts(in source: String) -> [Prose] {
        var texts: [Prose] = []
        var isOpen = false
        var awaitsName = false
        for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let code = line.drop { $0 == " " }
            if let comment = comment(in: code, number: index + 1) {
                if isOpen, let last = texts.last, last.kind == comment.kind {
                    texts[texts.count - 1].lines += comment.lines
                } else {
                    texts.append(comment)
                }
                isOpen = true
                continue
            }
            let isAttribute = code.hasPrefix("@") && !code.contains(" ")
            if let last = texts.last, last.kind == .docComment, last.declaration.isEmpty, !isAttribute {
                texts[texts.count - 1].declaration = code
            }
            isOpen = false
            let start = awaitsName ? code : afterAttribute(code)
            if let start, start.hasPrefix("\"") {
                texts.append(Prose(.name, number: index + 1, lines: [literal(start.dropFirst())]))
            }
            awaitsName = start?.isEmpty == true && !awaitsName
            let parts = line.components(separatedBy: " // ")
            if parts.count > 1, parts[0].count(where: { $0 == "\"" }).isMultiple(of: 2) {
                texts.append(Prose(.innerComment, number: index + 1, lines: [parts[1][...]]))
            }
        }
        return texts
    }

    private static func comment(in code: Substring, number: Int) -> Prose? {
        if code.hasPrefix("///") { return Prose(.docComment, number: number, lines: [code.dropFirst(3)]) }
        if code.hasPrefix("// MARK: ") {
            return Prose(.sectionMark, number: number, lines: [code.dropFirst(9).drop { "- ".contains($0) }])
        }
        return code.hasPrefix("//") ? Prose(.innerComment, number: number, lines: [code.dropFirst(2)]) : nil
    }

    /// The rest of a line that begins with the attribute of a test or suite.
    private static func afterAttribute(_ code: Substring) -> Substring? {
        for attribute in ["@Test(", "@Suite("] where code.hasPrefix(attribute) {
            return code.dropFirst(attribute.count)
        }
        return nil
    }

    /// The content of a string literal up to its quote.
    private static func literal(_ text: Substring) -> Substring {
        var isEscaped = false
        for index in text.indices {
            if text[index] == "\"", !isEscaped { return text[..<index] }
            isEscaped = text[index] == "\\" && !isEscaped
        }
        return text
    }

    /// The words of each paragraph and list item, without code blocks, tables and headings.
    var paragraphs: [[String]] {
        var paragraphs: [[Substring]] = [[]]
        var isCode = false
        for line in lines {
            let words = line.split(separator: " ")
            let first = words.first ?? ""
            let isFence = first.hasPrefix("```")
            if isFence { isCode.toggle() }
            let isIndented = paragraphs[paragraphs.count - 1].isEmpty && line.hasPrefix("     ")
            if isFence || isCode || isIndented || first.isEmpty || first.hasPrefix("|") || first.hasPrefix("#") {
                paragraphs.append([])
            } else if first == "-" || first == "*" || first.last == "." && first.dropLast().allSatisfy(\.isNumber) {
                paragraphs.append(Array(words.dropFirst()))
            } else {
                paragraphs[paragraphs.count - 1] += words
            }
        }
        return paragraphs.filter { !$0.isEmpty }.map(Self.joiningCodeSpans)
    }

    /// Makes one word of each code span.
    private static func joiningCodeSpans(_ words: [Substring]) -> [String] {
        var joined: [String] = []
        var isCode = false
        for word in words {
            if isCode {
                joined[joined.count - 1] += " \(word)"
            } else {
                joined.append(String(word))
            }
            if !word.count(where: { $0 == "`" }).isMultiple(of: 2) { isCode.toggle() }
        }
        return joined
    }

    /// The words of each sentence. A colon ends a sentence, and so does the end of a paragraph or list item.
    var sentences: [[String]] {
        paragraphs.flatMap { words in
            var sentences: [[String]] = [[]]
            for word in words {
                sentences[sentences.count - 1].append(word)
                let mark = word.last { !"\")”".contains($0) }
                if let mark, ".!?:".contains(mark) { sentences.append([]) }
            }
            return sentences.filter { !$0.isEmpty }
        }
    }
}
