internal import Glibc

/// The folder that relative paths are relative to.
enum WorkingFolder {
    /// Its path; `/` if it has none.
    static var path: String {
        guard let text = getcwd(nil, 0) else { return "/" }
        defer { free(text) }
        return String(cString: text)
    }
}
