internal import CLinux
internal import CurlewPlatform
internal import Dispatch

/// A file that is read on a dispatch queue of its own: a slow disk blocks neither the event loop nor Swift's thread
/// pool.
package final class FileReader: Sendable {
    private let descriptor: Int32
    private let use: FileUse
    private let queue = DispatchQueue(label: "curlew.file")

    package init(path: String, for use: FileUse = .sending) async throws {
        self.use = use
        let queue = self.queue
        let (descriptor, status) = await withCheckedContinuation { continuation in
            queue.async {
                // O_NONBLOCK: opening a pipe that has replaced the file must not block.
                let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                continuation.resume(returning: (descriptor, descriptor < 0 ? errno : 0))
            }
        }
        self.descriptor = descriptor
        guard descriptor >= 0 else {
            throw use.failure("\(use.subject) cannot be opened: \(describe(status))")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The present state of the open file.
    package func snapshot() async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor, use] in
                continuation.resume(with: Result { try FileSnapshot(descriptor: descriptor, for: use) })
            }
        }
    }

    /// The present state of the file at a path, whether it is the open file or another.
    package func snapshot(at path: String) async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [use] in
                continuation.resume(with: Result { try FileSnapshot(statusOf: path, for: use) })
            }
        }
    }

    package func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor, use] in
                var status: Int32 = 0
                let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
                    let result = pread(descriptor, space.baseAddress, count, off_t(offset))
                    status = result < 0 ? errno : 0
                    filled = max(0, result)
                }
                if status == 0 {
                    continuation.resume(returning: bytes)
                } else {
                    continuation.resume(throwing: use.failure("\(use.subject) cannot be read: \(describe(status))"))
                }
            }
        }
    }
}

/// A file whose part in the page cache can be read without waiting for a disk.
protocol CachedFile: Sendable {
    /// Copies cached bytes from an offset on.
    func readCached(at offset: Int64, into space: UnsafeMutableRawBufferPointer) -> CachedRead
}

/// The outcome of a read from the page cache.
enum CachedRead {
    /// The number of bytes that were copied; 0 at the end of the file.
    case bytes(Int)
    /// The bytes are on the disk alone, or the call was interrupted.
    case notCached
    /// The file system or the kernel does not support such reads, or reading failed.
    case unsupported
}

extension FileReader: CachedFile {
    func readCached(at offset: Int64, into space: UnsafeMutableRawBufferPointer) -> CachedRead {
        let count = curlew_read_cached(descriptor, space.baseAddress, space.count, offset)
        if count >= 0 { return .bytes(count) }
        return errno == EAGAIN || errno == EINTR ? .notCached : .unsupported
    }
}

/// The identity and the state of a file, for detecting a change later.
package struct FileSnapshot: Sendable, Hashable, Codable {
    private let device: UInt64
    private let node: UInt64
    private let modifiedSeconds: Int
    private let modifiedNanoseconds: Int
    /// The size in bytes.
    package let size: Int64

    /// The device is not compared: its number changes with each boot or mount.
    package static func == (left: FileSnapshot, right: FileSnapshot) -> Bool {
        left.node == right.node && left.size == right.size && left.modifiedSeconds == right.modifiedSeconds
            && left.modifiedNanoseconds == right.modifiedNanoseconds
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(node)
        hasher.combine(size)
        hasher.combine(modifiedNanoseconds)
    }

    /// Takes the state of a regular file that is to be sent, and checks that it can be read.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is missing, not a regular file, or not
    ///   readable.
    package init(path: String) throws {
        try self.init(statusOf: path, for: .sending)
        // Opening the file uses the rights of the effective user, so these are checked.
        guard faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 else {
            throw FileUse.sending.failure("the file to send cannot be read: \(describe(errno))")
        }
    }

    /// Takes the state of a regular file without a check of read permission: one system call.
    package init(statusOf path: String, for use: FileUse) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw use.failure("\(use.subject) cannot be read: \(describe(errno))")
        }
        try self.init(status, use)
    }

    package init(descriptor: Int32, for use: FileUse) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw use.failure("\(use.subject) cannot be examined: \(describe(errno))")
        }
        try self.init(status, use)
    }

    private init(_ status: stat, _ use: FileUse) throws {
        guard status.st_mode & S_IFMT == S_IFREG else { throw use.failure("\(use.subject) is not a regular file") }
        device = UInt64(status.st_dev)
        node = UInt64(status.st_ino)
        modifiedSeconds = status.st_mtim.tv_sec
        modifiedNanoseconds = status.st_mtim.tv_nsec
        size = Int64(status.st_size)
    }

    /// True if both are the same file, changed or not.
    package func isSameFile(as other: FileSnapshot) -> Bool { device == other.device && node == other.node }
}

/// The purpose of reading a file. It decides the words and the code of a failure.
package enum FileUse: Sendable {
    /// The file's bytes are the body of a request.
    case sending
    /// The file belongs to the library: a part file, a token, a cookie file.
    case keeping

    /// The name of the file in error messages.
    var subject: String { self == .sending ? "the file to send" : "the file" }

    func failure(_ message: String) -> CurlewError {
        CurlewError(self == .sending ? .bodyFailed : .fileFailed, message)
    }
}
