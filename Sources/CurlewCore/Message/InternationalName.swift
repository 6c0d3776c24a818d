#if InternationalNames
internal import CIDN2
internal import CurlewPlatform
#endif

/// Host names with letters outside ASCII.
package enum InternationalName {
    #if InternationalNames
    /// The reason for which a host has no ASCII form. It follows the host in an error message.
    package static let refusal = "is no name in any script"

    /// The ASCII form of a name for DNS: `bücher.example` becomes `xn--bcher-kva.example` (UTS #46, nontransitional,
    /// RFC 5891). It does not depend on the locale of the process. nil for an invalid name.
    package static func ascii(_ name: String) -> String? {
        var result: UnsafeMutablePointer<CChar>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        // C strings end at NUL, so the text after it would be lost.
        guard !name.utf8.contains(0) else { return nil }
        guard idn2_to_ascii_8z(name, &result, flags) == IDN2_OK.rawValue, let result else { return nil }
        defer { free(result) }
        return String(validatingCString: result)
    }
    #else
    /// The reason for which a host has no ASCII form. It follows the host in an error message.
    package static let refusal = "is not ASCII, and this build of Curlew lacks the trait InternationalNames"

    /// Always nil: this build lacks the conversion.
    package static func ascii(_ name: String) -> String? { nil }
    #endif
}
