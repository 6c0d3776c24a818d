#if Storage
internal import CLinux
internal import Curlew
internal import CurlewPlatform

/// The folder of a store. Its functions block and run on queues.
///
///     lock              held while an index is chosen and opened
///     index-N.sqlite    the index; the highest number counts
///     index-N.lock      held, shared, by every store that has that index open
///     bodies/ID         the body of an entry, never changed
///     bodies/ID.part    a body that is being written, locked by its writer until its entry is committed
final class StoreFolder: Sendable {
    let path: String
    private let root: Int32
    private let bodies: Int32

    /// Opens a folder, and makes it if it does not exist.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed`` if the folder belongs to another user,
    ///   cannot be made, or is accessible to others and contains other files than a store's.
    init(_ path: String) throws {
        let hasSlash = path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/")
        let path = hasSlash ? String(decoding: path.utf8.dropLast(), as: UTF8.self) : path
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw CurlewError(.cacheFailed, "the path of the folder is not valid")
        }
        self.path = path
        try Self.make(path)
        let root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else {
            throw CurlewError(cacheFailure: "the folder of the cache cannot be opened", errorNumber: errno)
        }
        do {
            try Self.secure(root, path)
            if mkdirat(root, Self.bodyFolder, 0o700) != 0, errno != EEXIST {
                throw CurlewError(cacheFailure: "the folder of the cache cannot be written", errorNumber: errno)
            }
            let bodies = openat(root, Self.bodyFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard bodies >= 0 else {
                throw CurlewError(cacheFailure: "the folder of the cache cannot be opened", errorNumber: errno)
            }
            self.root = root
            self.bodies = bodies
        } catch {
            close(root)
            throw error
        }
    }

    deinit {
        close(bodies)
        close(root)
    }

    private static let bodyFolder = "bodies"
    private static let lockFile = "lock"
    private static let partEnd = ".part"

    private static func make(_ path: String) throws {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
            try makeParents(String(path[..<slash]))
            if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        }
        throw CurlewError(cacheFailure: "the folder of the cache cannot be made", errorNumber: errno)
    }

    /// Makes the parent folders, with the permissions that the umask leaves, because they contain no secrets.
    private static func makeParents(_ path: String) throws {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
            try makeParents(String(path[..<slash]))
            if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        }
        throw CurlewError(cacheFailure: "the folder of the cache cannot be made", errorNumber: errno)
    }

    /// Removes the access of other users, because a cache may contain private data. A folder with other files, such as
    /// `/tmp`, is rejected instead: its permissions must not change.
    private static func secure(_ root: Int32, _ path: String) throws {
        var status = stat()
        guard fstat(root, &status) == 0 else {
            throw CurlewError(cacheFailure: "the folder of the cache cannot be examined", errorNumber: errno)
        }
        guard status.st_uid == geteuid() else {
            throw CurlewError(.cacheFailed, "the folder of the cache belongs to another user")
        }
        guard status.st_mode & 0o077 != 0 else { return }
        let isOurs = try names(in: root).allSatisfy {
            $0 == bodyFolder || $0 == lockFile || IndexFile.isName($0)
        }
        guard isOurs else {
            throw CurlewError(
                .cacheFailed,
                "the folder of the cache is open to other users, and has other files: chmod it to 700, or take another")
        }
        guard fchmod(root, 0o700) == 0 else {
            throw CurlewError(
                cacheFailure: "the folder of the cache cannot be closed to other users", errorNumber: errno)
        }
    }

    private static func names(in folder: Int32) throws -> [String] {
        // The folder is opened again, because duplicates of a descriptor share their position.
        let descriptor = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0, let directory = fdopendir(descriptor) else {
            let status = errno
            if descriptor >= 0 { close(descriptor) }
            throw CurlewError(cacheFailure: "the folder of the cache cannot be listed", errorNumber: status)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// The file names of an index and its companions.
struct IndexFile: Sendable, Hashable {
    /// The number of the index in its folder.
    let number: Int

    var name: String { "index-\(number).sqlite" }
    var lockName: String { "index-\(number).lock" }
    var checkpointLockName: String { "index-\(number).checkpoint" }
    /// The names of all files; the index itself is first.
    var names: [String] { [name, "\(name)-wal", "\(name)-shm", "\(name)-journal", checkpointLockName, lockName] }

    init(number: Int) { self.number = number }

    /// Reads the number; nil unless the name is that of an index file.
    init?(name: String) {
        guard name.hasPrefix("index-"), name.hasSuffix(".sqlite"),
            let number = Int(name.dropFirst("index-".count).dropLast(".sqlite".count)),
            (1..<1_000_000_000).contains(number),
            IndexFile(number: number).name == name
        else { return nil }
        self.number = number
    }

    /// True for the names of indexes and their companions.
    static func isName(_ name: String) -> Bool { name.hasPrefix("index-") }
}

// MARK: Locks and indexes

extension StoreFolder {
    /// A lock that is held until this object is deinitialized.
    final class HeldLock: Sendable {
        fileprivate let descriptor: Int32

        fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// Waits until no other store chooses or opens an index here.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed`` if that takes longer than five seconds.
    func lockForOpening() throws -> HeldLock {
        let lock = try openLock(Self.lockFile)
        for _ in 0..<1000 {
            if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { return lock }
            // Some file systems have no locks. On these, processes must not share a folder.
            guard errno == EWOULDBLOCK || errno == EINTR else { return lock }
            usleep(5000)
        }
        throw CurlewError(.cacheFailed, "the folder of the cache is being opened by another process")
    }

    private func openLock(_ name: String) throws -> HeldLock {
        let descriptor = openat(root, name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw CurlewError(cacheFailure: "the folder of the cache cannot be written", errorNumber: errno)
        }
        return HeldLock(descriptor)
    }

    /// The indexes in the folder, in ascending order.
    func indexes() throws -> [IndexFile] {
        try Self.names(in: root).compactMap { IndexFile(name: $0) }.sorted { $0.number < $1.number }
    }

    /// Makes an index's file with the right permissions if it does not exist, and locks it as used.
    /// - Returns: nil if something else has its name.
    func use(_ file: IndexFile) throws -> HeldLock? {
        var status = stat()
        if fstatat(root, file.name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else { return nil }
            if status.st_mode & 0o777 != 0o600 { _ = fchmodat(root, file.name, 0o600, 0) }
        } else {
            let descriptor = openat(root, file.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw CurlewError(cacheFailure: "the folder of the cache cannot be written", errorNumber: errno)
            }
            close(descriptor)
        }
        let lock = try openLock(file.lockName)
        _ = flock(lock.descriptor, LOCK_SH | LOCK_NB)
        return lock
    }

    /// Removes an index that no store uses.
    func remove(_ file: IndexFile) {
        guard let lock = try? openLock(file.lockName), flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        for name in file.names { unlinkat(root, name, 0) }
    }

    func path(of file: IndexFile) -> String { "\(path)/\(file.name)" }

    func path(ofCheckpointLock file: IndexFile) -> String { "\(path)/\(file.checkpointLockName)" }
}

// MARK: Bodies

extension StoreFolder {
    /// Makes the file for a new body, and locks it.
    /// - Returns: The descriptor, which the caller must close.
    func createPart(_ id: HTTPCache.Entry.ID) throws -> Int32 {
        let name = id.description + Self.partEnd
        for _ in 0..<16 {
            let descriptor = openat(bodies, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw CurlewError(cacheFailure: "there can be no body in the cache", errorNumber: errno)
            }
            // Before the lock, another store that opens the folder may have removed the file as a leftover.
            var status = stat()
            let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
            if isLocked, fstat(descriptor, &status) == 0, status.st_nlink > 0 { return descriptor }
            close(descriptor)
            unlinkat(bodies, name, 0)
        }
        throw CurlewError(.cacheFailed, "there can be no body in the cache")
    }

    func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var done = 0
        while done < bytes.count {
            let start = done
            let count = bytes.withUnsafeBytes {
                CurlewPlatform.write(descriptor, $0.baseAddress! + start, $0.count - start)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw CurlewError(cacheFailure: "a body cannot be written", errorNumber: count < 0 ? errno : EIO)
            }
            done += count
        }
    }

    /// Gives a complete body its final name, which must be unused.
    func finishPart(_ id: HTTPCache.Entry.ID) throws {
        let part = id.description + Self.partEnd
        var result = renameat2(bodies, part, bodies, id.description, UInt32(curlew_rename_no_replace))
        // Some file systems lack `RENAME_NOREPLACE`. Names are random, so the flag is only a precaution.
        if result != 0, errno == EINVAL || errno == ENOSYS || errno == ENOTSUP {
            result = renameat(bodies, part, bodies, id.description)
        }
        guard result == 0 else {
            throw CurlewError(cacheFailure: "a body cannot be given its name", errorNumber: errno)
        }
    }

    func removePart(_ id: HTTPCache.Entry.ID) { unlinkat(bodies, id.description + Self.partEnd, 0) }

    func removeBody(_ id: HTTPCache.Entry.ID) { unlinkat(bodies, id.description, 0) }

    /// Opens a body.
    /// - Returns: The descriptor, which the caller must close, and the size; nil if the file does not exist.
    func openBody(_ id: HTTPCache.Entry.ID) throws -> (descriptor: Int32, size: Int64)? {
        let descriptor = openat(bodies, id.description, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ELOOP { return nil }
            throw CurlewError(cacheFailure: "a body cannot be opened", errorNumber: errno)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int64(status.st_size))
    }

    func hasBody(_ id: HTTPCache.Entry.ID) -> Bool {
        var status = stat()
        return fstatat(bodies, id.description, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The names of all files in the folder of bodies.
    func bodyNames() throws -> [String] { try Self.names(in: bodies) }

    /// Removes a file without an entry, unless its writer is alive.
    /// - Parameter isEntry: Returns true if an entry of that name has been committed by now; called after the file is
    ///   locked.
    /// - Returns: True if the file was removed.
    func removeLeftover(_ name: String, unless isEntry: (HTTPCache.Entry.ID) throws -> Bool) throws -> Bool {
        let descriptor = openat(bodies, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            // A link was not made by a store, so it is removed.
            return errno == ELOOP && unlinkat(bodies, name, 0) == 0
        }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return false }
        if let id = HTTPCache.Entry.ID(name), try isEntry(id) { return false }
        return unlinkat(bodies, name, 0) == 0
    }
}
#endif
