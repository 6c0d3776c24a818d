internal import CIDN2
internal import Glibc

/// Host names in other letters than those of ASCII.
enum InternationalName {
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
}
