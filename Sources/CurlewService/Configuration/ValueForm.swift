#if Service
internal import Curlew

/// The text of a value: one text, or several for a key with a list.
enum ConfigurationText: Sendable {
    case one(String)
    case several([String])

    /// The text for errors, unless the value is secret.
    var shown: String {
        switch self {
        case .one(let text): text
        case .several(let texts): texts.joined(separator: ",")
        }
    }
}

/// The form of a value: a reader of its text and a writer for the default in the table.
///
/// Every form rejects a text that is empty, has white space at its ends, or contains a control character.
struct ValueForm<Value>: Sendable {
    /// The name of the form, for the table.
    let name: String
    /// The expected value with an article and an example, for errors.
    let expectation: String
    var isList = false
    let read: @Sendable (ConfigurationText) -> Value?
    let show: @Sendable (Value) -> String?

    init(
        _ name: String, _ expectation: String, show: @escaping @Sendable (Value) -> String? = { "\($0)" },
        read: @escaping @Sendable (String) -> Value?
    ) {
        self.name = name
        self.expectation = expectation
        self.show = show
        self.read = { text in
            guard case .one(let text) = text, Self.isClean(text) else { return nil }
            return read(text)
        }
    }

    private init(
        name: String, expectation: String, isList: Bool, read: @escaping @Sendable (ConfigurationText) -> Value?,
        show: @escaping @Sendable (Value) -> String?
    ) {
        self.name = name
        self.expectation = expectation
        self.isList = isList
        self.read = read
        self.show = show
    }

    private static func isClean(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last else { return false }
        let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
        return !isSpace(first) && !isSpace(last)
            && !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }

    /// The same form for an optional property, which is nil without a configured value.
    var optional: ValueForm<Value?> {
        ValueForm<Value?>(
            name: name, expectation: expectation, isList: isList, read: { [read] in read($0).map { .some($0) } },
            show: { [show] in $0.flatMap(show) })
    }

    /// The same form, plus a word that means nil.
    func or(_ word: String) -> ValueForm<Value?> {
        ValueForm<Value?>(
            name: "\(name), or `\(word)`", expectation: "\(expectation), or \(word)", isList: isList,
            read: { [read] text in
                if case .one(word) = text { return .some(nil) }
                return read(text).map { .some($0) }
            },
            show: { [show] value in value.flatMap(show) ?? word })
    }

    /// The same form, plus a word for a special value.
    func or(_ word: String, for special: Value) -> ValueForm<Value> where Value: Equatable & Sendable {
        ValueForm(
            name: "\(name), or `\(word)`", expectation: "\(expectation), or \(word)", isList: isList,
            read: { [read] text in
                if case .one(word) = text { return special }
                return read(text)
            },
            show: { [show] value in value == special ? word : show(value) })
    }

    /// The form of a list of at least one value of this form. A text that is not a list counts as its only element.
    func list(_ name: String, _ expectation: String) -> ValueForm<[Value]> {
        ValueForm<[Value]>(
            name: name, expectation: expectation, isList: true,
            read: { [read] text in
                let texts: [String] =
                    switch text {
                    case .one(let text): [text]
                    case .several(let texts): texts
                    }
                let values = texts.compactMap { read(.one($0)) }
                return values.isEmpty || values.count < texts.count ? nil : values
            },
            show: { [show] values in values.isEmpty ? nil : values.compactMap(show).joined(separator: ",") })
    }
}

/// The forms of the keys.
enum Form {
    static let text = ValueForm<String>("text", "a text that is not empty, without spaces at its ends") { $0 }
    static let path = ValueForm<String>("path", "the path of a file, not empty, without spaces at its ends") { $0 }
}

extension Form {
    /// A Boolean, with the words that swift-configuration accepts in environment variables.
    static let flag = ValueForm<Bool>("`true` or `false`", "true or false") { text in
        switch text.lowercased() {
        case "true", "yes", "1": true
        case "false", "no", "0": false
        default: nil
        }
    }
}

extension Form {
    /// The largest count for keys without another bound; no realistic value is larger.
    static let largestCount = 1_000_000_000

    /// A whole number, without sign and separators.
    static func count(_ range: ClosedRange<Int>) -> ValueForm<Int> {
        let bound = range.upperBound == largestCount ? "" : " to \(range.upperBound)"
        return ValueForm<Int>(
            "number from \(range.lowerBound)\(bound)", "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { text in
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
            return range.contains(number) ? number : nil
        }
    }
}

extension Form {
    /// A word from a list of words.
    static func choice<Value: Equatable & Sendable>(_ words: KeyValuePairs<String, Value>) -> ValueForm<Value> {
        let all = Array(words)
        return ValueForm(
            all.map { "`\($0.key)`" }.joined(separator: ", "), "one of " + all.map(\.key).joined(separator: ", "),
            show: { value in all.first { $0.value == value }?.key },
            read: { text in all.first { $0.key == text }?.value })
    }
}
#endif
