internal import Dispatch
internal import Glibc

/// A file being written under another name beside its destination, until it is whole.
///
/// Everything happens on a queue of its own, off the loop and off Swift's threads. At most ``room`` bytes are on their way to
/// the disk; who writes more waits. The file is locked (`flock`), so that no two processes write one part.
final class PartFile: Sendable {
    /// Where it lies.
    let path: String
    let name: String
    let folder: OpenFolder
    let descriptor: Int32
    let queue: DispatchQueue
    private let window = Guarded(WriteWindow(limit: PartFile.room))
    let running = Guarded<RunningDigest?>(nil)

    /// The most bytes on their way to the disk: 1 MiB. More of them would leave the processor's cache before they are written.
    static let room = 1 << 20

    /// Takes over a descriptor that is open for reading and writing.
    init(place: FilePlace, folder: OpenFolder, descriptor: Int32, queue: DispatchQueue) {
        path = place.path(of: place.name)
        name = place.name
        self.folder = folder
        self.descriptor = descriptor
        self.queue = queue
    }

    deinit { close(descriptor) }

    // MARK: Writing

    /// Hands bytes over to be written at an offset. Returns when there is room for them, not when they are written.
    /// - Parameter memory: Gets the bytes back when they are written, so that their memory can be used again.
    /// - Throws: ``CurlewError`` if they or earlier ones could not be written: ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    func write(
        _ bytes: consuming [UInt8], at offset: Int64, memory: (@Sendable (inout [UInt8]) -> Void)? = nil
    ) async throws {
        let count = bytes.count
        guard count > 0 else { return }
        if try !window.withLock({ try $0.admit(count) }) { try await waitForRoom(count) }
        let work = Guarded(bytes)
        queue.async {
            var bytes = work.withLock { exchange(&$0, with: []) }
            self.perform(bytes, at: offset)
            memory?(&bytes)
        }
    }

    private func waitForRoom(_ count: Int) async throws {
        try await withCheckedThrowingContinuation { waiter in
            // Room may have come in the meantime.
            let admitted: Result<Bool, any Error> = window.withLock { window in
                Result {
                    if try window.admit(count) { return true }
                    window.wait(for: count, waiter)
                    return false
                }
            }
            switch admitted {
            case .success(false): break
            case .success(true): waiter.resume()
            case .failure(let error): waiter.resume(throwing: error)
            }
        }
        // Woken by a failure it has no room, and needs none.
        if let failure = window.withLock({ $0.failure }) { throw failure }
    }

    /// On the queue.
    private func perform(_ bytes: [UInt8], at offset: Int64) {
        var failure = window.withLock { $0.failure }
        if failure == nil {
            do {
                try writeNow(bytes, at: offset)
                try running.withLock { try $0?.take(bytes, at: offset) }
            } catch {
                failure = error as? CurlewError ?? CurlewError(.fileFailed, "the file failed", underlying: error)
            }
        }
        for waiter in window.withLock({ $0.finish(bytes.count, failure: failure) }) { waiter.resume() }
    }

    private func writeNow(_ bytes: [UInt8], at offset: Int64) throws {
        var done = 0
        while done < bytes.count {
            let start = done
            let call = bytes.withUnsafeBytes { space in
                FileCall {
                    pwrite(descriptor, space.baseAddress! + start, space.count - start, off_t(offset) + off_t(start))
                }
            }
            let count = try call.get("the file cannot be written")
            guard count > 0 else { throw CurlewError(errorNumber: EIO, "the file cannot be written") }
            done += count
        }
    }

    /// Waits until all that was handed over is written.
    func drain() async throws { try await perform {} }

    /// Does something on the queue, after all that was handed over is written.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await Self.perform(on: queue) {
            if let failure = self.window.withLock({ $0.failure }) { throw failure }
            return try work()
        }
    }

    static func perform<Value: Sendable>(
        on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        // The queue must not be the last to hold the file: who has been woken finds it closed, and its room free.
        let pending = Guarded<(@Sendable () throws -> Value)?>(work)
        return try await withCheckedThrowingContinuation { continuation in
            queue.async {
                let result = Self.finish(pending)
                continuation.resume(with: result)
            }
        }
    }

    /// Does work that is pending, and has let go of it when it returns.
    private static func finish<Value: Sendable>(
        _ pending: Guarded<(@Sendable () throws -> Value)?>
    ) -> Result<Value, any Error> {
        let work = pending.withLock { $0.take() }
        return Result {
            guard let work else { throw CurlewError(.fileFailed, "the work was done already") }
            return try work()
        }
    }

    // MARK: Looking and changing

    /// Which file it is and how it stands now.
    func snapshot() async throws -> FileSnapshot {
        try await perform { [descriptor] in
            do {
                return try FileSnapshot(descriptor: descriptor)
            } catch {
                throw CurlewError(.fileFailed, "the file cannot be looked at", underlying: error)
            }
        }
    }

    /// Cuts the file off, or lengthens it with zeros.
    func truncate(to size: Int64) async throws {
        try await perform { [descriptor, running] in
            running.withLock { $0 = nil }
            _ = try FileCall { ftruncate(descriptor, off_t(size)) }.get("the file cannot be cut off")
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() async throws {
        try await perform { [descriptor] in
            _ = try FileCall { fsync(descriptor) }.get("the file cannot be synchronized")
        }
    }

    /// Looks whether the disk has room for so many more bytes. Nothing is reserved: others may take it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/diskFull``.
    func checkRoom(for count: Int64) async throws {
        try await perform { [descriptor] in
            var status = statvfs()
            // What tells no size at all is some network file system, and says nothing about its room.
            guard FileCall({ fstatvfs(descriptor, &status) }).errorNumber == 0, status.f_blocks > 0 else { return }
            let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
            let (room, overflows) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            guard !overflows, UInt64(max(0, count)) > room else { return }
            throw CurlewError(.diskFull, "\(count) bytes are to come, and the disk has room for \(room)")
        }
    }

    /// Removes the file. Not what has taken its name, nor what it has become.
    func discard() async {
        try? await Self.perform(on: queue) {
            if self.isInItsPlace { self.folder.remove(self.name) }
        }
    }

    /// Whether its name still leads to it.
    var isInItsPlace: Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let there = folder.status(of: name) else { return false }
        return there.st_dev == status.st_dev && there.st_ino == status.st_ino
    }
}
