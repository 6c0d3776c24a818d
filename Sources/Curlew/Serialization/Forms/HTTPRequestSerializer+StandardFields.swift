internal import FoundationEssentials
public import HTTPTypes

extension HTTPRequestSerializer {
    /// What a serializer adds unless told otherwise: who asks, and in which languages. Computed once in a process.
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
