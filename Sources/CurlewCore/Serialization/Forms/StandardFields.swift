internal import FoundationEssentials
public import HTTPTypes

extension HTTPRequestSerializer {
    /// The fields that a serializer adds by default: Accept-Language, such as `de-AT;q=1, en;q=0.9`, with at most six
    /// languages.
    ///
    /// The languages are read from `LC_ALL`, `LC_MESSAGES`, `LANG` and `LANGUAGE`. There is no field if the locale is
    /// `C`, `POSIX` or not set, as in most containers. The value is computed once in a process.
    public static let standardFields: HTTPFields = {
        var fields = HTTPFields()
        fields[.acceptLanguage] = LanguagePreference(ProcessInfo.processInfo.environment).acceptLanguage
        return fields
    }()
}

/// The languages of a user, from environment variables.
struct LanguagePreference {
    /// The language tags (RFC 5646), the preferred first.
    let tags: [String]

    /// Reads the locale for messages: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty. If there is
    /// one, `LANGUAGE` may list preferred languages, separated by colons, as for gettext.
    ///
    /// Without a locale, and in the locales `C` and `POSIX`, there are no tags, as the user has not chosen a language.
    init(_ environment: [String: String]) {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let locale, let own = Self.tag(of: locale) else {
            tags = []
            return
        }
        let listed = environment["LANGUAGE"]?.split(separator: ":").compactMap { Self.tag(of: String($0)) } ?? []
        var tags: [String] = []
        for tag in listed + [own] where !tags.contains(tag) { tags.append(tag) }
        self.tags = tags
    }

    /// The value of Accept-Language: `en-GB;q=1, de;q=0.9` and so on down to 0.5, so at most six languages. nil without
    /// languages.
    var acceptLanguage: String? {
        guard !tags.isEmpty else { return nil }
        let qualities = ["1", "0.9", "0.8", "0.7", "0.6", "0.5"]
        return zip(tags, qualities).map { "\($0);q=\($1)" }.joined(separator: ", ")
    }

    /// The tag of a locale: `de_AT.UTF-8@euro` becomes `de-AT`. A modifier that names a script becomes a subtag. nil
    /// for `C`, `POSIX` and text that is not the name of a locale.
    private static func tag(of locale: String) -> String? {
        let modified = locale.split(separator: "@", maxSplits: 1)
        guard let name = modified.first?.split(separator: ".", omittingEmptySubsequences: false).first else {
            return nil
        }
        var parts = name.split(omittingEmptySubsequences: false) { $0 == "_" || $0 == "-" }.map(String.init)
        guard parts.count <= 4, parts.allSatisfy(isSubtag), let language = parts.first,
            (2...3).contains(language.count), language.utf8.allSatisfy(\.isLetter)
        else { return nil }
        parts[0] = language.lowercased()
        if modified.count == 2, let script = scripts[modified[1].lowercased()] { parts.insert(script, at: 1) }
        return parts.joined(separator: "-")
    }

    private static func isSubtag(_ part: String) -> Bool {
        (2...8).contains(part.utf8.count) && part.utf8.allSatisfy { $0.isLetter || $0.isDigit }
    }

    private static let scripts = ["latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"]
}
