/// Why a line is not carried out.
enum LineProblem: Error, Hashable {
    /// It breaks the protocol: answered with the code `bad-request`.
    case unusable(String)
    /// It asks for what the library, or the probe, does not do: answered with `skip`.
    case unsupported(String)
}
