import Testing

@Suite("The words of comments and test names")
struct WordsTests {
    /// The texts that a reader meets without the code beside them.
    enum Kind: CaseIterable, CustomTestStringConvertible {
        case innerComment
        case docComment
        case testName

        var testDescription: String { "\(self)" }

        /// The number of beginnings without a noun that is left. A change may lower it and never raises it.
        var limit: Int {
            switch self {
            case .innerComment: 0
            case .docComment: 0
            case .testName: 0
            }
        }
    }

    /// Words that begin a sentence without a noun.
    private static let openings: Set<String> = [
        "what", "who", "whoever", "whom", "whose", "whether", "that", "those", "one", "others", "nobody", "nothing",
        "none",
        "how", "which",
    ]

    /// Words after which a sentence that begins with "Where" has no noun yet.
    private static let pronouns: Set<String> = [
        "it", "they", "there", "this", "that", "nobody", "nothing", "no", "is", "are",
    ]

    private static func beginsWithoutNoun(_ text: some StringProtocol) -> Bool {
        let words = text.lowercased().split { !($0.isLetter || $0 == "'" || $0 == "`") }
        guard let first = words.first else { return false }
        if openings.contains(String(first)) { return true }
        return first == "where" && words.count > 1 && pronouns.contains(String(words[1]))
    }

    /// The first lines of comments, and the names of tests, of a file.
    private static func texts(_ kind: Kind, in source: String) -> [Substring] {
        var texts: [Substring] = []
        var isInside = false
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let code = line.drop { $0 == " " }
            switch kind {
            case .innerComment:
                let isComment = code.hasPrefix("//") && !code.hasPrefix("///") && !code.hasPrefix("// MARK")
                if isComment, !isInside { texts.append(code.dropFirst(2)) }
                isInside = isComment
            case .docComment:
                if code.hasPrefix("///"), !isInside { texts.append(code.dropFirst(3)) }
                isInside = code.hasPrefix("///")
            case .testName:
                if isInside || code.hasPrefix("@Test("), let quote = code.firstIndex(of: "\"") {
                    texts.append(code[code.index(after: quote)...])
                    isInside = false
                } else {
                    isInside = code == "@Test("
                }
            }
        }
        return texts
    }

    @Test("no more texts than before begin without a noun", arguments: Kind.allCases)
    func beginnings(_ kind: Kind) throws {
        var found: [String] = []
        for path in try Repository.swiftFiles(under: "Sources", "Tests", "Examples", "Benchmarks", "Fuzzing") {
            for text in Self.texts(kind, in: try Repository.text(of: path)) where Self.beginsWithoutNoun(text) {
                found.append("\(path):\(text)")
            }
        }
        #expect(
            found.count <= kind.limit,
            "\(found.count) instead of \(kind.limit), some of them new: \(found.suffix(20).joined(separator: "\n"))")
    }

    @Test("a beginning without a noun is distinguished from one with a noun")
    func judgement() {
        for text in [" What follows is read", "Whoever waits", "where it stands", "one waits"] {
            #expect(Self.beginsWithoutNoun(text), "\(text)")
        }
        for text in ["The rest is read", "Where a body ends", "onesies", ""] {
            #expect(!Self.beginsWithoutNoun(text), "\(text)")
        }
    }
}
