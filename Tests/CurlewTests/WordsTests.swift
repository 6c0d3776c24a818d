import TestHelpers
import Testing

/// The rules for comments, doc comments, names of tests, and the string literals of the library.
///
/// The goal is a text that every reader understands at the first reading, without the code beside it. The rules find
/// only a part of the sentences that miss this goal.
@Suite("The words of comments, test names and messages")
struct WordsTests {
    /// A rule for texts.
    enum Rule: CaseIterable, CustomTestStringConvertible {
        /// A comment or name begins with a noun.
        case beginning
        /// A sentence of a doc comment has at most 35 words.
        case sentenceLength
        /// A line with a comment has at most 120 columns.
        case lineLength
        /// A text contains none of the project's former idioms. This rule also applies to the string literals of the
        /// library, because most of them are messages.
        case idiom
        /// The doc comment of a Boolean begins with "True" or "False", or with a noun.
        case boolean

        var testDescription: String { "\(self)" }
    }

    /// A sentence that breaks a rule on purpose.
    private struct Exception {
        /// A part of the sentence.
        let text: String
        let reason: String
    }

    /// The exceptions, at most twenty.
    private static let exceptions: [Exception] = []

    // MARK: Judgement

    private static let wordLimit = 35
    private static let columnLimit = 120

    /// Words that begin a sentence without a noun.
    private static let openings: Set<String> = [
        "what", "who", "whoever", "whom", "whose", "whether", "that", "those", "one", "others", "nobody", "nothing",
        "none", "how", "which",
    ]

    /// Words after which a sentence that begins with "Where" has no noun yet.
    private static let pronouns: Set<String> = [
        "it", "they", "there", "this", "that", "nobody", "nothing", "no", "is", "are",
    ]

    /// Expressions that a text of the field would not use, each with a plain one.
    private static let idioms: KeyValuePairs = [
        "are told": "are notified, receive",
        "asked for": "requested",
        "be had": "be available",
        "brings": "returns, causes",
        "came of": "the result of",
        "come of": "the result of",
        "comes of": "the result of",
        "done with": "finished, released",
        "goes its way": "continues, is sent",
        "goes on": "continues",
        "has it that": "requires",
        "is of": "has",
        "is told": "is notified, receives",
        "it stands": "it is, its place is",
        "left of": "the rest of",
        "lets go": "releases",
        "looked at": "read, checked",
        "nobody": "no caller",
        "nobody's": "no caller's",
        "passed over": "skipped",
        "says": "contains, reports, requires",
        "so many": "this number",
        "so much": "this amount",
        "somebody": "a caller",
        "somebody's": "a caller's",
        "that are no": "that are not",
        "that is no": "that is not",
        "the like": "such as",
        "the whole": "all of, the complete",
        "under way": "running, in progress",
        "what has": "a noun",
        "what is": "a noun",
        "what it": "a noun",
        "who": "the caller that",
        "whoever": "a caller that",
    ]

    /// The words of the idioms, by their first word.
    private static let idiomsByWord = Dictionary(
        grouping: idioms.map { $0.key.split(separator: " ").map(String.init) }, by: { $0[0] })

    /// A word in lower case without punctuation.
    private static func plain(_ word: some StringProtocol) -> String {
        let isPart = { (character: Character) in character.isLetter || character.isNumber || character == "`" }
        let start = word.lowercased().drop { !isPart($0) }
        guard let end = start.lastIndex(where: isPart) else { return "" }
        return String(start[...end])
    }

    private static func beginsWithoutNoun(_ text: some StringProtocol) -> Bool {
        let words = text.lowercased().split { !($0.isLetter || $0 == "'" || $0 == "`") }
        guard let first = words.first else { return false }
        if openings.contains(String(first)) { return true }
        return first == "where" && words.count > 1 && pronouns.contains(String(words[1]))
    }

    private static func foundIdioms(in words: [String]) -> [String] {
        let words = words.map { plain($0) }
        return words.indices.flatMap { index in
            (idiomsByWord[words[index]] ?? []).filter { words[index...].starts(with: $0) }
        }.map { $0.joined(separator: " ") }
    }

    /// True for the declaration of a variable whose type is written as `Bool`, or whose value is `true` or `false`.
    private static func declaresBoolean(_ declaration: Substring) -> Bool {
        let words = declaration.split(separator: " ")
        guard let keyword = words.firstIndex(where: { $0 == "var" || $0 == "let" }) else { return false }
        let rest = words[keyword...].dropFirst(2)
        if words[keyword...].dropFirst().first?.hasSuffix(":") == true { return rest.first == "Bool" }
        let value = rest.dropFirst().first
        return rest.first == "=" && (value == "true" || value == "false")
    }

    private static func beginsAsBoolean(_ text: Prose) -> Bool {
        guard let first = text.paragraphs.first?.first else { return false }
        return ["true", "false", "the", "a", "an"].contains(plain(first)) || first.hasPrefix("`")
    }

    /// The faults of a text: each with a description.
    private static func faults(of text: Prose, by rule: Rule) -> [String] {
        switch rule {
        case .beginning:
            return text.lines.prefix(1).filter { beginsWithoutNoun($0) }.map { "begins without a noun:\($0)" }
        case .sentenceLength where text.kind == .docComment:
            return text.sentences.filter { $0.count > wordLimit }.map {
                "has a sentence of \($0.count) words: \($0.joined(separator: " "))"
            }
        case .idiom:
            return text.paragraphs.flatMap { words in
                foundIdioms(in: words).map { "has the idiom \"\($0)\": \(words.joined(separator: " "))" }
            }
        case .boolean where text.kind == .docComment && declaresBoolean(text.declaration) && !beginsAsBoolean(text):
            return ["does not begin as that of a Boolean:\(text.lines.first ?? "")"]
        case .sentenceLength, .boolean, .lineLength:
            return []
        }
    }

    /// The texts of the exceptions that have no reason, or allow none of the faults.
    private static func unneeded(_ exceptions: [Exception], among faults: [String]) -> [String] {
        exceptions.filter { exception in
            exception.reason.isEmpty || !faults.contains { $0.contains(exception.text) }
        }.map(\.text)
    }

    /// The numbers of the lines that begin with a comment and are too long.
    private static func longLines(in source: String) -> [Int] {
        source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().filter { _, line in
            line.drop { $0 == " " }.hasPrefix("//") && line.count > columnLimit
        }.map { $0.offset + 1 }
    }

    // MARK: Rules

    private struct File: Sendable {
        let path: String
        let source: String
        let texts: [Prose]
        /// The string literals of a file of the library; empty for other files.
        let literals: [Prose]
    }

    /// The Swift files of the repository, which are parsed once for all rules.
    private static let files = Result {
        let paths = try Repository.swiftFiles(under: "Sources", "Tests", "Examples", "Tools", "Benchmarks", "Fuzzing")
        return try (paths + ["Package.swift"]).map { path in
            let source = try Repository.text(of: path)
            let literals = path.hasPrefix("Sources/") ? LiteralScanner.literals(in: source) : []
            return File(path: path, source: source, texts: Prose.texts(in: source), literals: literals)
        }
    }

    /// The faults of all files, with their places.
    private func faults(by rule: Rule) throws -> [String] {
        try Self.files.get().flatMap { file in
            if rule == .lineLength {
                return Self.longLines(in: file.source).map { "\(file.path):\($0) is too long" }
            }
            let texts = rule == .idiom ? file.texts + file.literals : file.texts
            return texts.flatMap { text in
                Self.faults(of: text, by: rule).map { "\(file.path):\(text.number) \($0)" }
            }
        }
    }

    @Test("every comment and every name of a test obeys the rules", arguments: Rule.allCases)
    func words(_ rule: Rule) throws {
        let found = try faults(by: rule).filter { fault in !Self.exceptions.contains { fault.contains($0.text) } }
        #expect(found.isEmpty, "\(found.count) texts break the rule:\n\(found.prefix(50).joined(separator: "\n"))")
    }

    @Test("each exception has a reason and is still needed")
    func neededExceptions() throws {
        #expect(Self.exceptions.count <= 20)
        let found = Self.exceptions.isEmpty ? [] : try Rule.allCases.flatMap { try faults(by: $0) }
        #expect(Self.unneeded(Self.exceptions, among: found) == [])
    }

    // MARK: Tests of the judgement

    @Test("a beginning without a noun is distinguished from one with a noun")
    func beginnings() {
        for text in [" What follows is read", "Whoever waits", "where it stands", "one waits"] {
            #expect(Self.beginsWithoutNoun(text), "\(text)")
        }
        for text in ["The rest is read", "Where a body ends", "onesies", ""] {
            #expect(!Self.beginsWithoutNoun(text), "\(text)")
        }
    }

    @Test("an exception without a reason or without a fault is reported")
    func unneededExceptions() {
        let exceptions = [
            Exception(text: "a quotation", reason: "the words of an RFC"), Exception(text: "a name", reason: ""),
            Exception(text: "a title", reason: "the title of a book"),
        ]
        let faults = ["A.swift:1 has the idiom \"x\": a quotation", "A.swift:2 has the idiom \"x\": a name"]
        #expect(Self.unneeded(exceptions, among: faults) == ["a name", "a title"])
    }

    @Test("comments and names are found with their lines")
    func finding() {
        let source = #"""
            /// The first line.
            /// The second line.
            @frozen
            var isFound: Bool  // a trailing comment
            // MARK: - Section
            // An inner comment
            @Test("a \"name\" is found", .tags(.a))
            let url = "http://a // b"
            @Suite(
                "A suite"
            )
            @Test(arguments: ["a value"])
            """#
        let texts = Prose.texts(in: source)
        #expect(
            texts.map { $0.lines.joined(separator: "|") } == [
                " The first line.| The second line.", "a trailing comment", "Section", " An inner comment",
                #"a \"name\" is found"#, "A suite",
            ])
        #expect(texts.map(\.number) == [1, 4, 5, 6, 7, 10])
        #expect(
            texts.map(\.kind) == [.docComment, .innerComment, .sectionMark, .innerComment, .name, .name])
        #expect(texts[0].declaration.hasPrefix("var isFound: Bool"))
    }

    @Test("string literals of one line and several words are found with their lines")
    func literals() {
        let source = ##"""
            // "a comment"
            let word = "single", share = a / b
            throw error("the text of \(value ?? "an inner text") is \"bad\"") /* "a comment" */
            let raw = #"a raw "text""#, several = """
                several "lines"
                """, last = "the last \n line"
            """##
        let literals = LiteralScanner.literals(in: source)
        #expect(
            literals.map { $0.lines.joined(separator: "|") } == [
                "an inner text", "the text of … is  bad ", #"a raw "text""#, "the last   line",
            ])
        #expect(literals.map(\.number) == [3, 3, 4, 6])
        #expect(literals.allSatisfy { $0.kind == .literal })
        let idiom = LiteralScanner.literals(in: #"let text = "\(name) vouches for nobody""#)
        #expect(idiom.flatMap { Self.faults(of: $0, by: .idiom) }.count == 1)
    }

    @Test("a sentence ends at its mark, and code is not counted as sentences")
    func sentences() {
        let text = Prose(
            .docComment,
            lines: [
                " The value of `a ? b : c.d` (see ``Name``). Two more", " words: the rest", "", "     let code = 1",
                " ```", " code. code.", " ```", " | a | table |", " - Parameter name: The text of 3.5 MiB.",
                " 2. Second",
            ])
        #expect(
            text.sentences.map { $0.joined(separator: "_") } == [
                "The_value_of_`a ? b : c.d`_(see_``Name``).", "Two_more_words:", "the_rest", "Parameter_name:",
                "The_text_of_3.5_MiB.", "Second",
            ])
        #expect(text.sentences[0].count == 6)
        let long = Prose(.docComment, lines: [String(repeating: "word ", count: 36)[...]])
        #expect(Self.faults(of: long, by: .sentenceLength).count == 1)
        let inner = Prose(.innerComment, lines: long.lines)
        #expect(Self.faults(of: inner, by: .sentenceLength).isEmpty)
    }

    @Test("idioms are found as words")
    func idioms() {
        for text in ["The rest, which is of the task.", "It SAYS: no", "Nobody's value", "`a b` goes its way."] {
            #expect(Self.faults(of: Prose(.name, lines: [text[...]]), by: .idiom).count == 1, "\(text)")
        }
        for text in ["This offset", "The `who` of a task", "essays", "the wholesale", "whom", "it goes"] {
            #expect(Self.faults(of: Prose(.name, lines: [text[...]]), by: .idiom).isEmpty, "\(text)")
        }
    }

    @Test("a doc comment of a Boolean begins with a truth value or an article")
    func booleans() {
        let beginnings = [("True if it waits.", 0), ("The first bit.", 0), ("Waits for a slot.", 1), ("Whether", 1)]
        for (beginning, count) in beginnings {
            for declaration in ["public var waits: Bool {", "private(set) var waits = false", "let waits: Bool"] {
                let texts = Prose.texts(in: "/// \(beginning)\n@usableFromInline\n\(declaration)")
                #expect(Self.faults(of: texts[0], by: .boolean).count == count, "\(beginning) \(declaration)")
            }
        }
        for declaration in ["var count = 1", "var isDone: Bool?", "func waits() -> Bool", "case waits"] {
            #expect(!Self.declaresBoolean(declaration[...]), "\(declaration)")
        }
    }

    @Test("only lines with comments have a limit of columns")
    func columns() {
        let wide = String(repeating: "x", count: 118)
        #expect(Self.longLines(in: "  // \(wide)\n// x\n  let a = \"\(wide)\"\n//\(wide)\n/// \(wide)") == [1, 5])
    }
}
