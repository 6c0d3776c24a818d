internal import Dispatch
internal import Glibc

/// A file that is written on a queue of its own, under another name until it is whole.
final class FileWriter: Sendable {
    private let path: String
    private let temporaryPath: String
    private let descriptor: Int32
    private let queue: DispatchQueue

    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` if there can be no such file.
    init(path: String) async throws {
        let temporaryPath = "\(path).\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let queue = DispatchQueue(label: "curlew.file")
        descriptor = try await Self.perform(on: queue) {
            try Self.checkPlace(path)
            let descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw Self.failure(errno) }
            return descriptor
        }
        self.path = path
        self.temporaryPath = temporaryPath
        self.queue = queue
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) async throws {
        try await Self.perform(on: queue) { [descriptor] in
            var offset = 0
            while offset < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress! + offset, $0.count - offset)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw Self.failure(count < 0 ? errno : EIO) }
                offset += count
            }
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() async throws {
        try await Self.perform(on: queue) { [descriptor] in
            guard fsync(descriptor) == 0 else { throw Self.failure(errno) }
        }
    }

    /// Gives the file its name.
    func commit() async throws {
        try await Self.perform(on: queue) { [temporaryPath, path] in
            guard rename(temporaryPath, path) == 0 else { throw Self.failure(errno) }
        }
    }

    /// Removes what was written.
    func discard() async {
        try? await Self.perform(on: queue) { [temporaryPath] in _ = unlink(temporaryPath) }
    }

    /// A device or a pipe must not be replaced by a file.
    private static func checkPlace(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw CurlewError(.bodyFailed, "where the body is to be written, there is something that is no regular file")
    }

    private static func failure(_ errorNumber: Int32) -> CurlewError {
        CurlewError(.bodyFailed, "the body cannot be written into a file: \(describe(errorNumber))")
    }

    private static func perform<Value: Sendable>(
        on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
