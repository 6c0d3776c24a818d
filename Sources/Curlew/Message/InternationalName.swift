#if InternationalNames
internal import CIDN2
internal import Glibc
#endif

/// Host names in other letters than those of ASCII.
enum InternationalName {
    #if InternationalNames
    /// The reason why a host has no ASCII form, to follow the host in an error's message.
    static let refusal = "is no name in any script"

    /// The name in the letters that DNS has: `bücher.example` as `xn--bcher-kva.example` (UTS #46, nontransitional, RFC 5891),
    /// whatever the locale of the process; nil for what is no name.
    static func ascii(_ name: String) -> String? {
        var result: UnsafeMutablePointer<CChar>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        // What follows a NUL would be lost on the way.
        guard !name.utf8.contains(0) else { return nil }
        guard idn2_to_ascii_8z(name, &result, flags) == IDN2_OK.rawValue, let result else { return nil }
        defer { free(result) }
        return String(validatingCString: result)
    }
    #else
    /// The reason why a host has no ASCII form, to follow the host in an error's message.
    static let refusal = "is not ASCII, and this build of Curlew lacks the trait InternationalNames"

    /// No name: what converts them was not built in.
    static func ascii(_ name: String) -> String? { nil }
    #endif
}
