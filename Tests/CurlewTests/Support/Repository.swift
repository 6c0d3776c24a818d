import FoundationEssentials

/// The files of the repository, for the tests that compare what is written about the code with the code.
enum Repository {
    private static let root = String(#filePath.dropLast("/Tests/CurlewTests/Support/Repository.swift".count))

    /// The text of a file.
    /// - Parameter path: Where it is, from the repository's top folder on.
    static func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }
}
