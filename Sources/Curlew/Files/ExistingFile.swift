/// What becomes of a file that is already where a new one is to go.
public enum ExistingFile: String, Sendable, Hashable, Codable, CaseIterable {
    /// It stays, and the new one is an error: ``ErrorCode/fileExists``.
    case fail
    /// The new one takes its place, in one step: whoever opens the name gets the old file or the new one, whole. A symbolic
    /// link is replaced itself; what it leads to stays as it is.
    case replace
    /// It stays, and the new one gets a number: `name (1).txt`, `name (2).txt`, and so on up to 9,999.
    case unique
}
