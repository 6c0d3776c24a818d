#if PublicSuffixList
internal import CPSL
#endif

/// The Public Suffix List through libpsl: domains under which anyone can register names, such as `com`, `co.uk` and
/// `github.io`.
///
/// Without the trait `PublicSuffixList` there is no list, and every name counts as a public suffix.
enum PublicSuffixes {
    #if PublicSuffixList
    /// The newest list of the system, read once, else the list inside the library.
    ///
    /// It is never changed or freed, and libpsl only reads it, so all threads may use it.
    nonisolated(unsafe) private static let list: OpaquePointer? = psl_latest(nil) ?? psl_builtin()

    /// True if cookies for the name would be sent to hosts of different owners. A name that is not in the list counts
    /// if it has a single label. Without a list every name counts.
    /// - Parameter name: A name in ASCII and lower case. Final dots, which mark a complete host name, are ignored;
    ///   libpsl would count them.
    static func contains(_ name: String) -> Bool {
        guard let list, let end = name.utf8.lastIndex(where: { $0 != UInt8(ascii: ".") }) else { return true }
        return psl_is_public_suffix2(list, String(name[...end]), PSL_TYPE_ANY) != 0
    }
    #else
    static func contains(_ name: String) -> Bool { true }
    #endif
}
