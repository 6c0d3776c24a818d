internal import Dispatch
internal import Glibc

/// A file read on a queue of its own, so that a slow disk holds up neither the loop nor Swift's threads.
final class FileReader: Sendable {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "curlew.file")

    init(path: String) async throws {
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
            throw CurlewError(.bodyFailed, "the file to send cannot be opened: \(describe(status))")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// What is open, as it is now.
    func snapshot() async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor] in
                continuation.resume(with: Result { try FileSnapshot(descriptor: descriptor) })
            }
        }
    }

    /// What is at a path now, be it this file or another.
    func snapshot(at path: String) async throws -> FileSnapshot {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(with: Result { try FileSnapshot(statusOf: path) })
            }
        }
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor] in
                var status: Int32 = 0
                let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
                    let result = pread(descriptor, space.baseAddress, count, off_t(offset))
                    status = result < 0 ? errno : 0
                    filled = max(0, result)
                }
                if status == 0 {
                    continuation.resume(returning: bytes)
                } else {
                    continuation.resume(throwing: CurlewError(.bodyFailed, "the file to send: \(describe(status))"))
                }
            }
        }
    }
}
