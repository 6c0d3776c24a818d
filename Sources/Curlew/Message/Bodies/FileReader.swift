internal import CLinux
internal import Dispatch
internal import Glibc

/// A file read on a queue of its own, so that a slow disk holds up neither the loop nor Swift's threads.
final class FileReader: Sendable {
    private let descriptor: Int32
    private let use: FileUse
    private let queue = DispatchQueue(label: "curlew.file")

    init(path: String, for use: FileUse = .sending) async throws {
        self.use = use
        let queue = self.queue
        let (descriptor, status) = await withCheckedContinuation { continuation in
            queue.async {
                // A pipe that has come in the place of the file must not hold up the opening.
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

    /// What is open, as it is now.
    func snapshot() async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor, use] in
                continuation.resume(with: Result { try FileSnapshot(descriptor: descriptor, for: use) })
            }
        }
    }

    /// What is at a path now, be it this file or another.
    func snapshot(at path: String) async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [use] in
                continuation.resume(with: Result { try FileSnapshot(statusOf: path, for: use) })
            }
        }
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
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

/// A file of which what is in the page cache can be read without waiting for a disk.
protocol CachedFile: Sendable {
    /// Copies what is cached from an offset on.
    func readCached(at offset: Int64, into space: UnsafeMutableRawBufferPointer) -> CachedRead
}

/// The outcome of a look into the page cache.
enum CachedRead {
    /// So many bytes were there; 0 at the end of the file.
    case bytes(Int)
    /// They would have to be fetched from a disk, or the call was interrupted.
    case notCached
    /// The file system or the kernel cannot say, or reading fails.
    case unsupported
}

extension FileReader: CachedFile {
    func readCached(at offset: Int64, into space: UnsafeMutableRawBufferPointer) -> CachedRead {
        let count = curlew_read_cached(descriptor, space.baseAddress, space.count, offset)
        if count >= 0 { return .bytes(count) }
        return errno == EAGAIN || errno == EINTR ? .notCached : .unsupported
    }
}

/// The identity and the state of a file, to tell later whether it is still the same.
package struct FileSnapshot: Sendable, Hashable, Codable {
    private let device: UInt64
    private let node: UInt64
    private let modifiedSeconds: Int
    private let modifiedNanoseconds: Int
    /// The size in bytes.
    package let size: Int64

    /// The device does not count: it is numbered anew with each start of the machine, or each mount.
    package static func == (left: FileSnapshot, right: FileSnapshot) -> Bool {
        left.node == right.node && left.size == right.size && left.modifiedSeconds == right.modifiedSeconds
            && left.modifiedNanoseconds == right.modifiedNanoseconds
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(node)
        hasher.combine(size)
        hasher.combine(modifiedNanoseconds)
    }

    /// Looks at a regular file that is to be sent, and can be read.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for one that is not there, is none, or cannot be read.
    init(path: String) throws {
        try self.init(statusOf: path, for: .sending)
        // The rights of the effective user are those that opening it will need.
        guard faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 else {
            throw FileUse.sending.failure("the file to send cannot be read: \(describe(errno))")
        }
    }

    /// Looks at a regular file without asking whether it can be read: one system call.
    package init(statusOf path: String, for use: FileUse) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw use.failure("\(use.subject) cannot be read: \(describe(errno))")
        }
        try self.init(status, use)
    }

    init(descriptor: Int32, for use: FileUse) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw use.failure("\(use.subject) cannot be looked at: \(describe(errno))")
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

    /// True if both are the same file, be it changed or not.
    func isSameFile(as other: FileSnapshot) -> Bool { device == other.device && node == other.node }
}

/// The purpose that a file is looked at or read for: it decides the words and the code of a failure.
package enum FileUse: Sendable {
    /// Its bytes are a request's body.
    case sending
    /// It is one of the library's own: a part file, a token, a jar of cookies.
    case keeping

    /// What the file is called.
    var subject: String { self == .sending ? "the file to send" : "the file" }

    func failure(_ message: String) -> CurlewError {
        CurlewError(self == .sending ? .bodyFailed : .fileFailed, message)
    }
}
