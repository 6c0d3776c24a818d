internal import Glibc

/// Which file it is and how it stands, to tell later whether it is still the same.
struct FileSnapshot: Sendable, Hashable, Codable {
    private let device: UInt64
    private let node: UInt64
    private let modifiedSeconds: Int
    private let modifiedNanoseconds: Int
    /// The size in bytes.
    let size: Int64

    /// Looks at a regular file that can be read.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for one that is not there, is none, or cannot be read.
    init(path: String) throws {
        try self.init(statusOf: path)
        // The rights of the effective user are those that opening it will need.
        guard faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 else {
            throw CurlewError(.bodyFailed, "the file to send cannot be read: \(describe(errno))")
        }
    }

    /// Looks at a regular file without asking whether it can be read: one system call.
    init(statusOf path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CurlewError(.bodyFailed, "the file to send cannot be read: \(describe(errno))")
        }
        try self.init(status)
    }

    init(descriptor: Int32) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw CurlewError(.bodyFailed, "the file to send: \(describe(errno))")
        }
        try self.init(status)
    }

    private init(_ status: stat) throws {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CurlewError(.bodyFailed, "what is to be sent is not a regular file")
        }
        device = UInt64(status.st_dev)
        node = UInt64(status.st_ino)
        modifiedSeconds = status.st_mtim.tv_sec
        modifiedNanoseconds = status.st_mtim.tv_nsec
        size = Int64(status.st_size)
    }

    /// Whether both are the same file, be it changed or not.
    func isSameFile(as other: FileSnapshot) -> Bool { device == other.device && node == other.node }
}
