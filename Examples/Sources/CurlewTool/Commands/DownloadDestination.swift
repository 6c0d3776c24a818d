import Curlew
import Glibc
import TerminalOutput

/// The destination of downloads, checked before anything is fetched.
struct DownloadDestination {
    private let path: String
    private let isFolder: Bool
    private let createsFolders: Bool

    /// - Parameters:
    ///   - path: A file; or a folder, which exists or whose path ends in a slash.
    ///   - isForSeveral: True for several files, which need a folder.
    ///   - createsFolders: True if missing folders are made.
    init(_ path: String, isForSeveral: Bool, createsFolders: Bool) throws(CurlewError) {
        self.path = path
        self.createsFolders = createsFolders
        isFolder = Self.isFolder(path)
        guard isFolder || !isForSeveral else {
            throw CurlewError(.invalidDestination, "several files need a folder; \(printable(path)) is none")
        }
        guard !createsFolders else { return }
        let folder = isFolder ? path : Self.folder(of: path)
        guard access(folder, F_OK) == 0 else {
            throw CurlewError(.invalidDestination, "there is no folder \(printable(folder)); --parents makes it")
        }
        guard access(folder, W_OK) == 0 else {
            throw CurlewError(.invalidDestination, "the folder \(printable(folder)) cannot be written")
        }
    }

    /// True if the path is a folder, or ends in a slash.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return path.hasSuffix("/") || (stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
    }

    /// Refuses a file that exists. The names of files in a folder are not known yet.
    func refuseExistingFile() throws(CurlewError) {
        guard isFolder || access(path, F_OK) != 0 else {
            throw CurlewError(.fileExists, "\(printable(path)) is there already; --rename numbers files")
        }
    }

    func value(existing: Destination.ExistingFile) -> Destination {
        var destination: Destination = isFolder ? .folder(path) : .file(path)
        destination.existing = existing
        destination.createsFolders = createsFolders
        return destination
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
