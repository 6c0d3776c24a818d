internal import CLinux
internal import CurlewPlatform

/// An open folder. Operations apply to the folder itself, even if it is moved or its path is reused.
final class OpenFolder: Sendable {
    /// The path at the time of opening.
    let path: String
    let descriptor: Int32

    /// Opens a folder. If requested, it creates the folder and its parents, with permissions 0777, reduced by the
    /// umask.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` if the path is not a folder's; with
    ///   ``ErrorCode/fileFailed`` if the folder is missing or not accessible.
    init(_ path: String, creates: Bool) throws {
        self.path = path
        var opened = Self.open(path)
        if opened.errorNumber == ENOENT, creates {
            try Self.create(path)
            opened = Self.open(path)
        }
        if opened.errorNumber == ENOTDIR {
            throw CurlewError(.invalidDestination, "the parent of the file is not a folder")
        }
        descriptor = Int32(try opened.get("the folder of the file cannot be opened"))
    }

    deinit { close(descriptor) }

    private static func open(_ path: String) -> FileCall {
        let flags = O_DIRECTORY | O_CLOEXEC
        let readable = FileCall { CurlewPlatform.open(path, O_RDONLY | flags) }
        guard readable.errorNumber == EACCES else { return readable }
        return FileCall { CurlewPlatform.open(path, Int32(curlew_open_path) | flags) }
    }

    /// Creates a folder after its parents. Other processes may do the same concurrently.
    private static func create(_ path: String) throws {
        var made = FileCall { mkdir(path, 0o777) }
        if made.errorNumber == ENOENT, let place = try? FilePlace(path), place.folder != path {
            try create(place.folder)
            made = FileCall { mkdir(path, 0o777) }
        }
        if made.errorNumber != EEXIST { try made.get("the folder of the file cannot be made") }
    }

    /// The status of a name. For a symbolic link it is the link's own, unless links are followed.
    func status(of name: String, followsLink: Bool = false) -> stat? {
        var status = stat()
        let call = FileCall { fstatat(descriptor, name, &status, followsLink ? 0 : AT_SYMLINK_NOFOLLOW) }
        return call.errorNumber == 0 ? status : nil
    }

    func open(_ name: String, _ flags: Int32, permissions: mode_t = 0) -> FileCall {
        FileCall { openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, permissions) }
    }

    func remove(_ name: String) { _ = FileCall { unlinkat(descriptor, name, 0) } }

    /// Waits until the folder's names are on the disk.
    func synchronize() throws { try FileCall { fsync(descriptor) }.get("the folder cannot be synchronized") }

    /// True if the folder's path still refers to it.
    var isInItsPlace: Bool {
        var there = stat()
        var here = stat()
        guard stat(path, &there) == 0, fstat(descriptor, &here) == 0 else { return false }
        return there.st_dev == here.st_dev && there.st_ino == here.st_ino
    }

    /// The number of the folder's file system.
    var device: dev_t {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_dev : 0
    }

    /// The path of a file in the folder, at the folder's present location.
    func path(of name: String) -> String {
        let current = currentPath
        if current == "." { return name }
        return current.hasSuffix("/") ? current + name : "\(current)/\(name)"
    }

    /// The present path of the folder, according to the kernel.
    private var currentPath: String {
        guard !isInItsPlace else { return path }
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes { space in
            readlink("/proc/self/fd/\(descriptor)", space.baseAddress!.assumingMemoryBound(to: CChar.self), space.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : path
    }
}

extension OpenFolder {
    /// Checks that a file may be moved to a name.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` for a folder, a device, a pipe, or a link to one
    ///   of them, which a file must not replace; with ``ErrorCode/fileExists``.
    func checkPlace(of name: String, existing: Destination.ExistingFile) throws {
        guard let status = status(of: name) else { return }
        // A link without a target counts as a file.
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        let kind = (isLink ? self.status(of: name, followsLink: true) : status).map { $0.st_mode & S_IFMT } ?? S_IFREG
        guard kind == S_IFREG else {
            let thing = kind == S_IFDIR ? "a folder" : "no regular file"
            throw CurlewError(.invalidDestination, "the destination is \(thing)")
        }
        if existing == .fail { throw Self.fileExists }
    }

    static var fileExists: CurlewError { CurlewError(.fileExists, "there is a file at the destination already") }
}

extension OpenFolder {
    /// A method of moving a file to an unused name. Each is missing in some file systems.
    enum Move: CaseIterable {
        /// `renameat2` with RENAME_NOREPLACE.
        case rename
        /// A second name is made, then the first is removed. A crash in between leaves both.
        case link
        /// An empty file takes the name and is then replaced. A crash in between leaves the empty file.
        case placeholder
    }

    /// Moves a file of this folder to a name in the same or another folder, without replacing a file.
    /// - Returns: 0, or the error number: `EEXIST` if the name is in use.
    func move(
        _ name: String, to folder: OpenFolder, as newName: String, by ways: [Move] = Move.allCases
    ) -> Int32 {
        var result = ENOTSUP
        for way in ways {
            result = move(name, to: folder, as: newName, by: way)
            guard Self.meansUnsupported(result) else { break }
        }
        return result
    }

    /// Moves a file of this folder to a name in the same or another folder, and replaces the file that has the name.
    func moveReplacing(_ name: String, to folder: OpenFolder, as newName: String) -> Int32 {
        FileCall { renameat(descriptor, name, folder.descriptor, newName) }.errorNumber
    }

    private func move(_ name: String, to folder: OpenFolder, as newName: String, by way: Move) -> Int32 {
        switch way {
        case .rename:
            return FileCall {
                renameat2(
                    descriptor, name, folder.descriptor, newName, UInt32(curlew_rename_no_replace))
            }.errorNumber
        case .link:
            let linked = FileCall { linkat(descriptor, name, folder.descriptor, newName, 0) }
            if linked.errorNumber == 0 { remove(name) }
            return linked.errorNumber
        case .placeholder:
            let placeholder = folder.open(newName, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600)
            guard placeholder.errorNumber == 0 else { return placeholder.errorNumber }
            close(Int32(placeholder.value))
            let result = moveReplacing(name, to: folder, as: newName)
            if result != 0 { folder.remove(newName) }
            return result
        }
    }

    /// A file system without hard links returns EPERM.
    private static func meansUnsupported(_ errorNumber: Int32) -> Bool {
        [EINVAL, ENOSYS, ENOTSUP, EPERM, EMLINK].contains(errorNumber)
    }
}

/// The result of a system call: a value, or an error number.
///
/// A call that a signal interrupts is repeated.
struct FileCall {
    let value: Int
    /// 0 if the call succeeded.
    let errorNumber: Int32

    init<Value: SignedInteger>(_ call: () -> Value) {
        while true {
            let value = call()
            if value >= 0 {
                self.value = Int(value)
                errorNumber = 0
                return
            }
            let number = errno
            if number != EINTR {
                self.value = -1
                errorNumber = number
                return
            }
        }
    }

    /// - Parameter failure: A description of the failed operation.
    @discardableResult
    func get(_ failure: String) throws -> Int {
        guard errorNumber == 0 else { throw CurlewError(errorNumber: errorNumber, failure) }
        return value
    }
}

extension CurlewError {
    /// The error for a failed system call on a file.
    /// - Parameter failure: A description of the failed operation.
    init(errorNumber: Int32, _ failure: String) {
        let code: ErrorCode = errorNumber == ENOSPC || errorNumber == EDQUOT ? .diskFull : .fileFailed
        self.init(code, "\(failure): \(describe(errorNumber))")
    }
}
