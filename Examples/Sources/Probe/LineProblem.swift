/// The reason why a line is not executed.
enum LineProblem: Error, Hashable {
    /// A violation of the protocol, answered with the code `bad-request`.
    case unusable(String)
    /// A request for a feature that the library or the probe lacks, answered with `skip`.
    case unsupported(String)
}
