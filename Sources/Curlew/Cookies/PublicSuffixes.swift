#if PublicSuffixList
internal import CPSL
#endif

/// The Public Suffix List through libpsl: names under which anybody can register, such as `com`, `co.uk` and `github.io`.
///
/// Without the trait `PublicSuffixList` there is no list, and every name is taken for one.
enum PublicSuffixes {
    #if PublicSuffixList
    /// The newest list that the system has, read once, or else the one inside the library.
    ///
    /// Never changed and never freed, and libpsl only reads in it, so that all threads may use it.
    nonisolated(unsafe) private static let list: OpaquePointer? = psl_latest(nil) ?? psl_builtin()

    /// True if cookies for the name would go to hosts of different owners. A name that the list does not know is one if
    /// it has a single label. Without a list every name is one.
    /// - Parameter name: ASCII in lower case. Dots at its end, as of a host that is not to be completed, make no other name;
    ///   libpsl takes them for one.
    static func contains(_ name: String) -> Bool {
        guard let list, let end = name.utf8.lastIndex(where: { $0 != UInt8(ascii: ".") }) else { return true }
        return psl_is_public_suffix2(list, String(name[...end]), PSL_TYPE_ANY) != 0
    }
    #else
    static func contains(_ name: String) -> Bool { true }
    #endif
}
