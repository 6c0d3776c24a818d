/// Where a file goes: a folder, and a name in it.
struct FilePlace: Sendable, Hashable {
    /// The folder as written; `.` if there is none in the path.
    let folder: String
    let name: String
    private let prefix: String

    /// The most bytes of a name that the file systems of Linux take.
    static let nameLimit = 255

    /// Takes a path apart.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` if it can be none of a file.
    init(_ path: String) throws {
        guard !path.utf8.contains(0) else { throw Self.invalid("the path of the file holds NUL") }
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: .slash)
        name = String(path[(slash.map { bytes.index(after: $0) } ?? path.startIndex)...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw Self.invalid("the path of the file ends in no name")
        }
        guard name.utf8.count <= Self.nameLimit else {
            throw Self.invalid("the name of the file has more than \(Self.nameLimit) bytes")
        }
        prefix = slash.map { String(path[...$0]) } ?? ""
        folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The path of another file in the same folder.
    func path(of name: String) -> String { prefix + name }

    private static func invalid(_ message: String) -> CurlewError { CurlewError(.invalidDestination, message) }
}
