internal import CLinux
internal import Glibc

/// A folder that is held open: what is done in it is done there, though it be moved or another take its path.
final class OpenFolder: Sendable {
    /// As it was opened.
    let path: String
    let descriptor: Int32

    /// Opens a folder; makes it, and those that it lies in, if wanted (0777 without the bits of the umask).
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` if something in its place is no folder; with
    ///   ``ErrorCode/fileFailed`` if it is not there or cannot be entered.
    init(_ path: String, creates: Bool) throws {
        self.path = path
        var opened = Self.open(path)
        if opened.errorNumber == ENOENT, creates {
            try Self.create(path)
            opened = Self.open(path)
        }
        if opened.errorNumber == ENOTDIR {
            throw CurlewError(.invalidDestination, "what the file is to lie in is no folder")
        }
        descriptor = Int32(try opened.get("the folder of the file cannot be opened"))
    }

    deinit { close(descriptor) }

    private static func open(_ path: String) -> FileCall {
        let flags = O_DIRECTORY | O_CLOEXEC
        let readable = FileCall { Glibc.open(path, O_RDONLY | flags) }
        guard readable.errorNumber == EACCES else { return readable }
        return FileCall { Glibc.open(path, Int32(curlew_open_path) | flags) }
    }

    /// Makes a folder and, before it, those that it lies in. Others may do the same at the same time.
    private static func create(_ path: String) throws {
        var made = FileCall { mkdir(path, 0o777) }
        if made.errorNumber == ENOENT, let place = try? FilePlace(path), place.folder != path {
            try create(place.folder)
            made = FileCall { mkdir(path, 0o777) }
        }
        if made.errorNumber != EEXIST { try made.get("the folder of the file cannot be made") }
    }

    /// What lies under a name: the link itself if it is one, unless it is followed.
    func status(of name: String, followsLink: Bool = false) -> stat? {
        var status = stat()
        let call = FileCall { fstatat(descriptor, name, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) }
        return call.errorNumber == 0 ? status : nil
    }

    func open(_ name: String, _ flags: Int32, permissions: mode_t = 0) -> FileCall {
        FileCall { openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, permissions) }
    }

    func remove(_ name: String) { _ = FileCall { unlinkat(descriptor, name, 0) } }

    /// Waits until the names in it are on the disk.
    func synchronize() throws { try FileCall { fsync(descriptor) }.get("the folder cannot be synchronized") }

    /// Whether its path still leads to it.
    var isInItsPlace: Bool {
        var there = stat()
        var here = stat()
        guard stat(path, &there) == 0, fstat(descriptor, &here) == 0 else { return false }
        return there.st_dev == here.st_dev && there.st_ino == here.st_ino
    }

    /// The file system that it is on.
    var device: dev_t {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_dev : 0
    }

    /// The path of a file in it, wherever it is now.
    func path(of name: String) -> String {
        let current = currentPath
        if current == "." { return name }
        return current.hasSuffix("/") ? current + name : "\(current)/\(name)"
    }

    /// Where it is now, as the kernel knows it.
    private var currentPath: String {
        guard !isInItsPlace else { return path }
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { space in
            readlink("/proc/self/fd/\(descriptor)", space.baseAddress!.assumingMemoryBound(to: CChar.self), space.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : path
    }
}
