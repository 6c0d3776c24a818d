internal import CurlewPlatform
internal import Dispatch
internal import FoundationEssentials

extension ResumeToken {
    /// The most bytes that are read from a token's file.
    static let fileLimit: ByteSize = .mebibytes(1)

    /// Reads a token from the file in ``DownloadTask/Options/tokenFile``.
    /// - Throws: ``CurlewError``: ``ErrorCode/resumeTokenFileFailed`` if the file is missing, larger than 1 MiB,
    ///   unreadable, or belongs to another user (root excepted); ``ErrorCode/invalidResumeToken`` if its content is not
    ///   a usable token.
    public init(contentsOf path: String) async throws {
        let bytes = try await TokenFile.read(path, upTo: Self.fileLimit)
        do {
            self = try JSONDecoder().decode(ResumeToken.self, from: Data(bytes))
        } catch let error as CurlewError where error.code == .invalidResumeToken {
            throw error
        } catch {
            throw CurlewError(.invalidResumeToken, "the file holds no token", underlying: error)
        }
    }

    /// True if the part file was complete and has already been renamed to ``destination``. The process then ended
    /// before it removed the token's file. Nothing is left to resume.
    public var isFinished: Bool {
        get async {
            guard let destination, let total, let file = await TokenFile.snapshot(of: destination) else { return false }
            return file.isSameFile(as: identity) && file.size == total
        }
    }

    /// Writes the token into a file, and replaces an existing file in one step.
    ///
    /// Only the owner may read the file.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - synchronizes: True if the call waits until the file is on the disk.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resumeTokenFileFailed``.
    public func write(to path: String, synchronizes: Bool = false) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(self))
        } catch {
            throw CurlewError(.resumeTokenFileFailed, "the token cannot be written", underlying: error)
        }
        try await TokenFile.write(bytes, to: path, synchronizes: synchronizes)
    }
}

/// The small file of a token, read and written off the callers' threads.
enum TokenFile {
    private static let queue = DispatchQueue(label: "curlew.token")

    static func read(_ path: String, upTo limit: ByteSize) async throws -> [UInt8] {
        try await perform {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard descriptor >= 0 else { throw failure("opened", errno) }
            defer { close(descriptor) }
            try checkOwner(of: descriptor)
            var bytes: [UInt8] = []
            while bytes.count <= limit.bytes {
                var status: Int32 = 0
                let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { space, filled in
                    let count = CurlewPlatform.read(descriptor, space.baseAddress, 64 << 10)
                    status = count < 0 ? errno : 0
                    filled = max(0, count)
                }
                if status == EINTR { continue }
                guard status == 0 else { throw failure("read", status) }
                if piece.isEmpty { return bytes }
                bytes += piece
            }
            throw CurlewError(.resumeTokenFileFailed, "the token's file is larger than \(limit)")
        }
    }

    /// Rejects a file of another user. A token determines the requested URL, the file that is written, and the bytes
    /// that are trusted. In a folder that all users can write to, such as `/tmp`, any user could have placed it.
    private static func checkOwner(of descriptor: Int32) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CurlewError(.resumeTokenFileFailed, "the token's file is no regular file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw CurlewError(.resumeTokenFileFailed, "the token's file belongs to another user")
        }
    }

    /// Replaces the file in one step, so a reader gets the complete old or new content. A process that is killed may
    /// leave a temporary file beside it.
    static func write(_ bytes: [UInt8], to path: String, synchronizes: Bool) async throws {
        try await perform {
            let temporaryPath = "\(path).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
            let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw failure("written", errno) }
            do {
                defer { close(descriptor) }
                try write(bytes, to: descriptor)
                if synchronizes, fsync(descriptor) != 0 { throw failure("synchronized", errno) }
            } catch {
                unlink(temporaryPath)
                throw error
            }
            guard rename(temporaryPath, path) == 0 else {
                let status = errno
                unlink(temporaryPath)
                throw failure("written", status)
            }
            if synchronizes { try synchronizeFolder(of: path) }
        }
    }

    /// The state of the file at a path; nil if there is no file.
    static func snapshot(of path: String) async -> FileSnapshot? {
        try? await perform { try FileSnapshot(statusOf: path, for: .keeping) }
    }

    /// Removes the file, if it exists.
    static func remove(_ path: String) async {
        try? await perform { _ = unlink(path) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                CurlewPlatform.write(descriptor, $0.baseAddress! + offset, $0.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("written", count < 0 ? errno : EIO) }
            offset += count
        }
    }

    /// Writes the folder to the disk, and so the new name.
    private static func synchronizeFolder(of path: String) throws {
        let folder = path.utf8.lastIndex(of: .slash).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("synchronized", errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("synchronized", errno) }
    }

    private static func failure(_ what: String, _ status: Int32) -> CurlewError {
        CurlewError(.resumeTokenFileFailed, "the token's file cannot be \(what): \(describe(status))")
    }

    private static func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
