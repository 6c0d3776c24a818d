#if Storage
internal import CLinux
internal import Curlew
internal import Glibc

/// The folder of a store. Its calls block: they are made on queues.
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

    /// Opens a folder, and makes it if it is not there.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed`` if it belongs to another user, if others may use it and it has
    ///   anything but a store, or if it cannot be made.
    init(_ path: String) throws {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw CurlewError(.cacheFailed, "that is no path of a folder")
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
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeParents(String(path[..<slash]))
            if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        }
        throw CurlewError(cacheFailure: "the folder of the cache cannot be made", errorNumber: errno)
    }

    /// The folders above are nobody's secret: they have the rights that the umask leaves.
    private static func makeParents(_ path: String) throws {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeParents(String(path[..<slash]))
            if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        }
        throw CurlewError(cacheFailure: "the folder of the cache cannot be made", errorNumber: errno)
    }

    /// What is cached may be one user's own. A folder that is empty or a store is closed to others; the rights of one that has
    /// anything else, such as `/tmp`, are not ours to change.
    private static func secure(_ root: Int32, _ path: String) throws {
        var status = stat()
        guard fstat(root, &status) == 0 else {
            throw CurlewError(cacheFailure: "the folder of the cache cannot be looked at", errorNumber: errno)
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
        // Opened anew, for the position in a folder is shared by duplicates.
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

/// The names of an index and of what belongs to it.
struct IndexFile: Sendable, Hashable {
    /// The number of the index in its folder.
    let number: Int

    var name: String { "index-\(number).sqlite" }
    var lockName: String { "index-\(number).lock" }
    var checkpointLockName: String { "index-\(number).checkpoint" }
    /// All its files, the one that holds it first.
    var names: [String] { [name, "\(name)-wal", "\(name)-shm", "\(name)-journal", checkpointLockName, lockName] }

    init(number: Int) { self.number = number }

    /// nil unless it is the name of an index's own file.
    init?(name: String) {
        guard name.hasPrefix("index-"), name.hasSuffix(".sqlite"),
            let number = Int(name.dropFirst("index-".count).dropLast(".sqlite".count)),
            (1..<1_000_000_000).contains(number),
            IndexFile(number: number).name == name
        else { return nil }
        self.number = number
    }

    /// True for all names of indexes and their companions.
    static func isName(_ name: String) -> Bool { name.hasPrefix("index-") }
}

// MARK: Locks and indexes

extension StoreFolder {
    /// A lock that is held until this is released.
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
            // Not every file system has locks. Without them, processes must not share a folder.
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

    /// The indexes in the folder, in their order.
    func indexes() throws -> [IndexFile] {
        try Self.names(in: root).compactMap { IndexFile(name: $0) }.sorted { $0.number < $1.number }
    }

    /// Makes an index's file if it is not there, so that it has the right permissions, and marks it as used.
    /// - Returns: nil if something else is in its place.
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

    /// Removes an index that nobody uses.
    func remove(_ file: IndexFile) {
        guard let lock = try? openLock(file.lockName), flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        for name in file.names { unlinkat(root, name, 0) }
    }

    func path(of file: IndexFile) -> String { "\(path)/\(file.name)" }

    func path(ofCheckpointLock file: IndexFile) -> String { "\(path)/\(file.checkpointLockName)" }
}

// MARK: Bodies

extension StoreFolder {
    /// Makes the file that a body is written into, and locks it.
    /// - Returns: Its descriptor, which is the caller's to close.
    func createPart(_ id: HTTPCache.Entry.ID) throws -> Int32 {
        let name = id.description + Self.partEnd
        for _ in 0..<16 {
            let descriptor = openat(bodies, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw CurlewError(cacheFailure: "there can be no body in the cache", errorNumber: errno)
            }
            // Before it was locked, a store that opens may have taken it for a leftover.
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
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + start, $0.count - start) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw CurlewError(cacheFailure: "a body cannot be written", errorNumber: count < 0 ? errno : EIO)
            }
            done += count
        }
    }

    /// Gives a body that is whole its name, which nothing may have.
    func finishPart(_ id: HTTPCache.Entry.ID) throws {
        let part = id.description + Self.partEnd
        var result = renameat2(bodies, part, bodies, id.description, UInt32(curlew_rename_no_replace))
        // Not every file system knows that. Names are drawn at random, and so it is but a precaution.
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
    /// - Returns: The descriptor, which is the caller's to close, and the size; nil if there is no file.
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

    /// The names of all that lies where the bodies are.
    func bodyNames() throws -> [String] { try Self.names(in: bodies) }

    /// Removes a file that no entry has, unless its writer lives.
    /// - Parameter isEntry: Whether an entry of that name has been committed by now; asked when the file is locked.
    /// - Returns: Whether it was removed.
    func removeLeftover(_ name: String, unless isEntry: (HTTPCache.Entry.ID) throws -> Bool) throws -> Bool {
        let descriptor = openat(bodies, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            // No writer of ours makes a link.
            return errno == ELOOP && unlinkat(bodies, name, 0) == 0
        }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return false }
        if let id = HTTPCache.Entry.ID(name), try isEntry(id) { return false }
        return unlinkat(bodies, name, 0) == 0
    }
}
#endif
