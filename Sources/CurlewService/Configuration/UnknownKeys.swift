#if Service
public import Configuration
public import Curlew
internal import FoundationEssentials

extension HTTPSession.Settings {
    /// Looks for environment variables in a client's scope that no key reads: most are misspelled.
    ///
    /// A reader asks for the keys that it knows, and cannot list those that a provider has; so reading alone does not notice a
    /// variable with a typing error in it, and what it was to change stays as it is. Where all variables of a scope are meant for
    /// the client, this finds it. Values are not looked at.
    ///
    /// ```swift
    /// try HTTPSession.Settings.checkEnvironment(scope: "http.client")
    /// let api = try await HTTPSession(reader: config.scoped(to: "http.client"))
    /// ```
    /// - Parameters:
    ///   - variables: The variables; nil is those of the process.
    ///   - scope: The scope of the client's keys: `http.client` stands for variables that begin with `HTTP_CLIENT_`. An empty one
    ///     is an error, as it would be for all there are.
    ///   - others: Keys in the scope that somebody else reads.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``, which names each variable and the one that it is most like.
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

    /// Looks for keys in a client's scope that nothing reads: those of a dictionary for an `InMemoryProvider`, or of a file that the
    /// program has read itself.
    /// - Parameters:
    ///   - found: The keys, absolute. Those of other scopes are not looked at.
    ///   - scope: The scope of the client's keys; empty where they are at the top.
    ///   - others: Keys in the scope that somebody else reads.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``, which names each key and the one that it is most like.
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
    ///   - names: The names that were found, and `known` those that are read, without the prefix that all have.
    ///   - kind: What they are.
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

/// Keys as swift-configuration's provider of environment variables writes them; its own encoder is not public.
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

/// Words that are alike.
enum Spelling {
    /// The word with the fewest differences, if a third of the letters at most differ.
    static func nearest(to word: String, among words: [String]) -> String? {
        // Nobody types so much by mistake, and the cost is the product of the lengths.
        guard word.count <= 200 else { return nil }
        let letters = Array(word)
        let distances = words.map { (word: $0, distance: distance(letters, Array($0))) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return nearest.distance <= max(2, letters.count / 3) ? nearest.word : nil
    }

    /// Levenshtein's: letters to put in, take out or replace.
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
