#if Storage
internal import Curlew
internal import CurlewPlatform

/// The folder of a queue: its database and its locks. A folder may contain several queues, each with its own files.
final class TransferFolder: Sendable {
    let path: String
    let identifier: String

    /// Opens the folder. If it does not exist, it is made, accessible only to its owner.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed`` or ``Curlew/ErrorCode/invalidRequest``.
    init(_ path: String, identifier: String) throws {
        guard Self.isName(identifier) else {
            throw CurlewError(
                .invalidRequest,
                "an identifier has 1 to 64 letters, digits, dots, hyphens and underscores, and begins with no dot")
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw CurlewError(.invalidRequest, "the path of the folder is empty or holds NUL")
        }
        self.path = path
        self.identifier = identifier
        try Self.make(path)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw CurlewError(.queueFailed, "the folder of the queue is no folder")
        }
        guard status.st_uid == geteuid() else {
            throw CurlewError(.queueFailed, "the folder of the queue belongs to another user")
        }
        // Other users with write access to the folder could replace its files.
        guard status.st_mode & 0o022 == 0 else {
            throw CurlewError(
                .queueFailed, "other users may write to the folder of the queue: chmod it to 700, or take another")
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    private static func make(_ path: String) throws {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
            try make(String(path[..<slash]))
            if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        }
        throw CurlewError(queueFailure: "the folder of the queue cannot be made", errorNumber: errno)
    }

    private func file(_ end: String) -> String { "\(path)/\(identifier)\(end)" }

    var database: String { file(".queue") }
    var checkpointLock: String { file(".checkpoint") }

    /// Makes the database file if it does not exist, accessible only to its owner. The caller holds the lock for
    /// opening.
    ///
    /// An existing file is not opened: closing it again would release all locks of SQLite on it in this process (POSIX
    /// record locks).
    func makeDatabase() throws {
        var status = stat()
        if lstat(database, &status) != 0 {
            let descriptor = open(database, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw CurlewError(queueFailure: "the queue cannot be made", errorNumber: errno)
            }
            close(descriptor)
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw CurlewError(.queueFailed, "the queue is no regular file of this user's")
        }
        if status.st_mode & 0o777 != 0o600 { chmod(database, 0o600) }
    }

    /// True if the file is not empty and does not begin like a SQLite database: it then belongs to another program. No
    /// connection may have the file open, not even in this process.
    var isForeign: Bool {
        let descriptor = open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var start = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &start, start.count)
        let magic = Array("SQLite format 3\0".utf8)
        return count > 0 && start.contains { $0 != 0 } && Array(start[..<count]) != Array(magic[..<count])
    }

    /// Moves a damaged database aside.
    /// - Returns: The new path.
    func moveAside() throws -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let aside = "\(database).damaged-\(time.tv_sec)-\(UInt32.random(in: 0...UInt32.max))"
        guard rename(database, aside) == 0 else {
            throw CurlewError(queueFailure: "the damaged queue cannot be moved aside", errorNumber: errno)
        }
        for end in ["-wal", "-shm", "-journal"] { rename(database + end, aside + end) }
        return aside
    }

    /// A lock of the file system, held until it is released or the process ends.
    final class Lock: Sendable {
        private let descriptor: Int32

        fileprivate init(_ path: String) throws {
            descriptor = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else {
                throw CurlewError(queueFailure: "the folder of the queue cannot be written", errorNumber: errno)
            }
        }

        deinit { close(descriptor) }

        /// True if a path still leads to the locked file.
        func isAt(_ path: String) -> Bool {
            var (own, there) = (stat(), stat())
            return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino
                && own.st_dev == there.st_dev
        }

        /// - Returns: False if another process holds a conflicting lock.
        func take(exclusively isExclusive: Bool) -> Bool {
            // Some file systems have no locks. On these, processes must not share a folder.
            flock(descriptor, (isExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK
        }
    }

    /// Waits until no other process is opening the queue.
    func lockForOpening() throws -> Lock {
        let lock = try Lock(file(".lock"))
        for _ in 0..<1000 {
            if lock.take(exclusively: true) { return lock }
            usleep(5000)
        }
        throw CurlewError(.queueFailed, "the queue is being opened by another process")
    }

    /// The lock that all users of the open queue share.
    func useLock() throws -> Lock { try Lock(file(".use")) }

    // MARK: Workers

    private func workerFile(_ worker: TransferWorkerID) -> String { file(".worker-\(worker)") }

    /// Marks a worker as alive while the lock is held.
    func enlist(_ worker: TransferWorkerID) throws -> Lock {
        let path = workerFile(worker)
        for _ in 0..<1000 {
            let lock = try Lock(path)
            // A concurrent sweep may have held the lock and removed the file.
            if lock.take(exclusively: true), lock.isAt(path) { return lock }
            usleep(1000)
        }
        throw CurlewError(.queueFailed, "two workers have one name")
    }

    /// Removes the files of workers whose processes have ended. The caller holds the lock for opening.
    func sweep() {
        guard let directory = opendir(path) else { return }
        defer { closedir(directory) }
        let prefix = "\(identifier).worker-"
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(prefix) { _ = isGone(TransferWorkerID(String(name.dropFirst(prefix.count)))) }
        }
    }

    /// True if the process of a worker has ended. A suspended process keeps its lock, so only its lease reveals it.
    func isGone(_ worker: TransferWorkerID) -> Bool {
        let path = workerFile(worker)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        unlink(path)
        return true
    }

    func dismiss(_ worker: TransferWorkerID) { unlink(workerFile(worker)) }
}

extension CurlewError {
    /// Makes an error from a failed system call on a file of the queue.
    init(queueFailure failure: String, errorNumber: Int32) {
        let isFull = errorNumber == ENOSPC || errorNumber == EDQUOT
        self.init(isFull ? .diskFull : .queueFailed, "\(failure): \(describe(errorNumber))")
    }
}
#endif
