#if Service
public import Configuration
public import Curlew
internal import FoundationEssentials

extension HTTPSession.Settings {
    /// Checks that every environment variable in a client's scope is a known key; most unknown ones are misspelled.
    ///
    /// A reader only requests the keys that it knows and cannot list a provider's keys. So a misspelled variable is
    /// ignored without an error, and the default stays. If all variables of a scope belong to the client, this function
    /// finds such mistakes. It ignores the values.
    ///
    /// ```swift
    /// try HTTPSession.Settings.checkEnvironment(scope: "http.client")
    /// let api = try await HTTPSession(reader: config.scoped(to: "http.client"))
    /// ```
    /// - Parameters:
    ///   - variables: The variables; nil means those of the process.
    ///   - scope: The scope of the client's keys: `http.client` means variables that begin with `HTTP_CLIENT_`. An
    ///     empty scope is an error, because it would include all variables.
    ///   - others: Other known keys in the scope.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``, which names each unknown variable and the known
    ///   name nearest to it.
    public static func checkEnvironment(
        _ variables: [String: String]? = nil, scope: ConfigKey, others: [ConfigKey] = []
    ) throws {
        guard !scope.components.isEmpty else {
            throw CurlewError(.invalidRequest, "a check of the environment needs a scope")
        }
        let names = (variables ?? ProcessInfo.processInfo.environment).keys
        let prefix = VariableName.encoded(scope.components) + "_"
        let known = (keys.map(\.configKey) + others).map { VariableName.encoded($0.components) }
        let found = names.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        try check(found, known: known, "environment variable", prefix)
    }

    /// Checks that every key in a client's scope is known: keys of a dictionary for an `InMemoryProvider`, or of a file
    /// that the program has read.
    /// - Parameters:
    ///   - found: The absolute keys. Keys of other scopes are ignored.
    ///   - scope: The scope of the client's keys; empty for the top level.
    ///   - others: Other known keys in the scope.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``, which names each unknown key and the known key
    ///   nearest to it.
    public static func checkKeys(
        _ found: some Sequence<AbsoluteConfigKey>, scope: ConfigKey, others: [ConfigKey] = []
    ) throws {
        let inScope = found.filter { $0.components.starts(with: scope.components) }.map {
            $0.components.dropFirst(scope.components.count).joined(separator: ".")
        }
        let known = (keys.map(\.configKey) + others).map { $0.components.joined(separator: ".") }
        try check(inScope, known: known, "key", scope.components.map { $0 + "." }.joined())
    }

    /// - Parameters:
    ///   - names: The existing names, without their common prefix.
    ///   - known: The known names, without their common prefix.
    ///   - kind: The kind of names, for the error.
    ///   - prefix: The common prefix, for the error.
    private static func check(_ names: [String], known: [String], _ kind: String, _ prefix: String) throws {
        let unknown = Set(names).subtracting(known).sorted()
        guard !unknown.isEmpty else { return }
        let list = unknown.prefix(20).map { name -> String in
            let nearest = Spelling.nearest(to: name, among: known).map { " (did you mean \(prefix)\($0)?)" }
            return "\(prefix)\(name.prefix(200))\(nearest ?? "")"
        }
        let rest = unknown.count > list.count ? " and \(unknown.count - list.count) more" : ""
        throw CurlewError(.invalidRequest, "unknown \(kind): \(list.joined(separator: ", "))\(rest)")
    }
}

/// The names of keys in swift-configuration's provider of environment variables, whose own encoder is not public.
enum VariableName {
    static func encoded(_ components: [String]) -> String {
        components.map { component in
            var name = ""
            var last: Character?
            for character in component {
                if let last, last.isLowercase, character.isUppercase { name += "_" }
                name += character.isLetter || character.isNumber ? character.uppercased() : "_"
                last = character
            }
            return name
        }.joined(separator: "_")
    }
}

/// A search for similar words.
enum Spelling {
    /// The word with the smallest distance, if that is at most a third of the letters, or 2.
    static func nearest(to word: String, among words: [String]) -> String? {
        // Longer words are no typing mistakes, and the cost is the product of the lengths.
        guard word.count <= 200 else { return nil }
        let letters = Array(word)
        let distances = words.map { (word: $0, distance: distance(letters, Array($0))) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return nearest.distance <= max(2, letters.count / 3) ? nearest.word : nil
    }

    /// The Levenshtein distance: the number of letters to insert, delete or replace.
    static func distance(_ one: [Character], _ other: [Character]) -> Int {
        var row = Array(0...other.count)
        for (i, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, second) in other.enumerated() {
                let above = row[j + 1]
                row[j + 1] = letter == second ? diagonal : 1 + min(diagonal, above, row[j])
                diagonal = above
            }
        }
        return row[other.count]
    }
}
#endif
