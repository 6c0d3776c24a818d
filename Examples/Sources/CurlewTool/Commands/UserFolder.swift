import Glibc

/// The folders of the user (XDG Base Directory Specification).
enum UserFolder {
    /// The tool's folder below the path in a variable, or below a folder in the home folder.
    /// - Returns: nil if neither is known. A relative path is ignored.
    static func path(_ variable: String, in folder: String) -> String? {
        if let path = absolutePath(variable) { return "\(path)/curlew" }
        return absolutePath("HOME").map { "\($0)/\(folder)/curlew" }
    }

    private static func absolutePath(_ variable: String) -> String? {
        getenv(variable).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
