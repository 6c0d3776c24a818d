internal import Curlew
internal import CurlewPlatform

/// Access to files with secrets. A file is read completely, within a limit, and only if no other user may read or
/// change it.
enum SecretFile {
    /// Reads a file. The permissions of the open file are checked, so a later change of the path has no effect.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/credentialFileExposed`` or
    ///   ``Curlew/ErrorCode/invalidCredential``.
    /// - Parameter isShared: True for a file that the system provides to the process, with permissions that the system
    ///   chooses.
    static func read(_ path: String, limit: Int, isShared: Bool = false) throws(CurlewError) -> [UInt8] {
        guard let bytes = try readIfPresent(path, limit: limit, isShared: isShared) else {
            throw failure(path, "cannot be opened", ENOENT)
        }
        return bytes
    }

    /// Reads a file by the same rules.
    /// - Returns: nil if the file does not exist. A file that exists and cannot be opened is an error.
    static func readIfPresent(_ path: String, limit: Int, isShared: Bool = false) throws(CurlewError) -> [UInt8]? {
        // A pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure(path, "cannot be opened", errno) }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(path, "cannot be examined", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CurlewError(.invalidCredential, "\(path) is no regular file")
        }
        guard isShared || status.st_uid == geteuid() || status.st_uid == 0 else {
            throw CurlewError(.credentialFileExposed, "\(path) belongs to another user")
        }
        guard isShared || status.st_mode & (S_IRWXG | S_IRWXO) == 0 else {
            throw CurlewError(
                .credentialFileExposed, "other users may use \(path); take the rights away with chmod go= \(path)")
        }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            var result = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 16 << 10) { space, filled in
                result = CurlewPlatform.read(descriptor, space.baseAddress, 16 << 10)
                filled = max(0, result)
            }
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw failure(path, "cannot be read", errno) }
            if result == 0 { return bytes }
            bytes += piece
        }
        throw CurlewError(.invalidCredential, "\(path) has more than \(limit) bytes")
    }

    /// Reads a file on another thread, as the caller's thread may be an event loop.
    @concurrent
    static func readElsewhere(_ path: String, limit: Int, isShared: Bool = false) async throws -> [UInt8] {
        try read(path, limit: limit, isShared: isShared)
    }

    /// Reads a file on another thread.
    /// - Returns: nil if the file does not exist.
    @concurrent
    static func readElsewhereIfPresent(_ path: String, limit: Int) async throws -> [UInt8]? {
        try readIfPresent(path, limit: limit)
    }

    /// Removes a file on another thread, if it exists.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/fileFailed``.
    @concurrent
    static func removeElsewhere(_ path: String) async throws {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, "cannot be removed", errno, .fileFailed) }
        synchronizeFolder(of: path)
    }

    /// Writes a file on another thread.
    @concurrent
    static func writeElsewhere(_ bytes: [UInt8], to path: String) async throws { try write(bytes, to: path) }

    /// Replaces a file atomically. Only the owner may use the new file.
    ///
    /// The bytes are written to a temporary file first, so a reader finds the old content or the new content. A process
    /// that is killed may leave the temporary file.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/fileFailed``.
    static func write(_ bytes: [UInt8], to path: String) throws(CurlewError) {
        let temporaryPath = "\(path).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path, "cannot be written", errno, .fileFailed) }
        var status = write(bytes, to: descriptor)
        if status == 0, fsync(descriptor) != 0 { status = errno }
        close(descriptor)
        if status == 0, rename(temporaryPath, path) != 0 { status = errno }
        guard status == 0 else {
            unlink(temporaryPath)
            throw failure(path, "cannot be written", status, .fileFailed)
        }
        synchronizeFolder(of: path)
    }

    /// Writes a change of names in the folder of a file to the disk, so that it survives a crash of the machine. Some
    /// file systems do not support this, so an error is ignored.
    private static func synchronizeFolder(of path: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[..<path.utf8.index(after: $0)]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Writes the bytes, and returns zero or the number of an error.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { CurlewPlatform.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = rest.dropFirst(count)
        }
        return 0
    }

    private static func failure(
        _ path: String, _ reason: String, _ status: Int32, _ code: ErrorCode = .invalidCredential
    ) -> CurlewError {
        CurlewError(code, "\(path) \(reason): \(String(cString: strerror(status)))")
    }
}
