/// The label of a file for a column.
enum FileLabel {
    static func text(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}
