#if Storage || Postgres
internal import CurlewPlatform

/// The folders that may contain the queue's files. Paths come from the queue, which processes of other machines may
/// write.
struct TransferFolders: Sendable {
    /// The folders; nil allows every folder.
    private let roots: [String]?

    init(_ roots: [String]?) { self.roots = roots }

    /// True if a path leads to one of the folders or below it.
    func contains(_ path: String) -> Bool {
        guard let roots else { return true }
        guard let path = Self.resolved(path) else { return false }
        return roots.contains { root in
            guard let root = Self.resolved(root) else { return false }
            guard path.utf8.starts(with: root.utf8) else { return false }
            let rest = path.utf8.dropFirst(root.utf8.count)
            return root.utf8.elementsEqual("/".utf8) || rest.isEmpty || rest.first == UInt8(ascii: "/")
        }
    }

    /// True if two paths lead to the same folder.
    static func isSame(_ one: String, _ other: String) -> Bool {
        guard let one = resolved(one), let other = resolved(other) else { return false }
        return one.utf8.elementsEqual(other.utf8)
    }

    /// Resolves an absolute path to one without links, `.` and `..`. Its last components may not exist yet.
    /// - Returns: nil for a relative path, and for a path that cannot be resolved.
    private static func resolved(_ path: String) -> String? {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { return nil }
        var existing = path[...]
        var rest = ""
        while true {
            if let real = realpath(String(existing), nil) {
                defer { free(real) }
                let start = String(cString: real)
                return rest.isEmpty ? start : (start == "/" ? "" : start) + rest
            }
            var status = stat()
            // A dangling link could later lead to any folder.
            guard errno == ENOENT, lstat(String(existing), &status) != 0,
                let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/"))
            else { return nil }
            // The name may begin with a combining mark, which would hide the slash before it in Swift's text.
            let name = existing[existing.utf8.index(after: slash)...]
            guard !name.utf8.elementsEqual(".".utf8), !name.utf8.elementsEqual("..".utf8) else { return nil }
            if !name.isEmpty { rest = "/\(name)\(rest)" }
            existing = slash == existing.startIndex ? "/" : existing[..<slash]
        }
    }
}
#endif
