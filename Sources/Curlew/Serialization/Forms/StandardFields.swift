internal import FoundationEssentials
internal import Glibc
public import HTTPTypes

extension HTTPRequestSerializer {
    /// The fields that a serializer adds by default: User-Agent and Accept-Language. Computed once in a process.
    ///
    /// - `User-Agent`: the name of the executable and the kernel, `importer (Linux 6.1.0)`; see ``userAgent(version:)``.
    /// - `Accept-Language`: from `LC_ALL`, `LC_MESSAGES`, `LANG` and `LANGUAGE`, as in `de-AT;q=1, en;q=0.9`, at most six
    ///   languages. There is none if the locale is `C` or `POSIX` or not set, as it is in most containers.
    public static let standardFields: HTTPFields = {
        var fields = HTTPFields()
        fields[.acceptLanguage] = LanguagePreference(ProcessInfo.processInfo.environment).acceptLanguage
        fields[.userAgent] = UserAgent.ofProcess().text
        return fields
    }()

    /// The standard User-Agent with the program's version in it: `importer/1.4 (Linux 6.1.0)`.
    /// - Parameter version: The version; characters that may not stand in one are left out.
    public static func userAgent(version: String) -> String { UserAgent.ofProcess(version: version).text }
}

/// The value of User-Agent that says which program on which system asks.
struct UserAgent {
    let text: String

    /// `program (Linux 6.1.0)`. An executable of Linux carries no version that could be named; one who has one gives it.
    /// - Parameters:
    ///   - program: The name; what is not ASCII is transliterated from Latin letters or left out, and so is what may not
    ///     stand in a product's name (RFC 9110 §10.1.5).
    ///   - version: The program's version, if it has one.
    ///   - release: The kernel's release; only the numbers that it begins with are sent.
    init(program: String, version: String? = nil, release: String) {
        let name = Self.token(program)
        var text = name.isEmpty ? "Curlew" : name
        if let version = version.map(Self.token), !version.isEmpty { text += "/\(version)" }
        let numbers = release.utf8.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        self.text = text + (numbers.isEmpty ? " (Linux)" : " (Linux \(Substring(numbers)))")
    }

    /// Of this process.
    fileprivate static func ofProcess(version: String? = nil) -> UserAgent {
        UserAgent(program: executable ?? "", version: version, release: kernelRelease)
    }

    /// Letters with marks lose them, spaces become hyphens.
    private static func token(_ name: String) -> String {
        var token: [UInt8] = []
        for scalar in name.unicodeScalars {
            if scalar == " " {
                token.append(UInt8(ascii: "-"))
            } else if scalar.isASCII {
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                if byte.isTokenByte { token.append(byte) }
            } else {
                token += latin(scalar).utf8
            }
        }
        return String(decoding: token.prefix(100), as: UTF8.self)
    }

    /// The ASCII letters of a Latin one, by the name that Unicode gives it: `LATIN SMALL LETTER E WITH ACUTE` is `e`.
    private static func latin(_ scalar: Unicode.Scalar) -> String {
        let words = scalar.properties.name?.split(separator: " ") ?? []
        guard words.count > 3, words[0] == "LATIN", words[2] == "LETTER" else { return "" }
        let letters: String
        switch words[3] {
        case "SHARP": letters = "SS"
        case "ETH": letters = "D"
        case "THORN": letters = "TH"
        case "DOTLESS": letters = "I"
        case let name where name.count <= 2: letters = String(name)
        default: return ""
        }
        return words[1] == "SMALL" ? letters.lowercased() : letters
    }

    /// The name of the file that the process runs.
    private static var executable: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        let name = path.prefix(max(0, length)).split(separator: CChar(UInt8.slash)).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    private static var kernelRelease: String {
        var system = utsname()
        guard uname(&system) == 0 else { return "" }
        return withUnsafeBytes(of: system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// The languages that a user reads, from the variables of the environment that say so.
struct LanguagePreference {
    /// Language tags (RFC 5646), the preferred first.
    let tags: [String]

    /// Reads the locale for messages: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not empty. If there is one,
    /// `LANGUAGE` may list others to prefer to it, with colons between them, as for gettext.
    ///
    /// Without a locale, and in the locales `C` and `POSIX`, nobody has said what they read, and there are no tags.
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

    /// The value of Accept-Language: `en-GB;q=1, de;q=0.9` and so on down to 0.5, so at most six. nil without languages.
    var acceptLanguage: String? {
        guard !tags.isEmpty else { return nil }
        let qualities = ["1", "0.9", "0.8", "0.7", "0.6", "0.5"]
        return zip(tags, qualities).map { "\($0);q=\($1)" }.joined(separator: ", ")
    }

    /// `de_AT.UTF-8@euro` is `de-AT`. The modifiers that name a script become that. nil for `C`, `POSIX` and whatever is no
    /// name of a locale.
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
