internal import CurlewPlatform
internal import Dispatch

/// A file that is written under a temporary name beside its destination until it is complete.
///
/// All work is done on a dispatch queue of its own, off the event loop and off Swift's thread pool. At most ``room``
/// bytes wait for the disk; a caller with more bytes waits.
package final class PartFile: Sendable {
    /// A closure that takes the memory of a written chunk back for reuse.
    package typealias Recycling = @Sendable (inout [UInt8]) -> Void

    private let file: OpenFile
    private let queue: DispatchQueue
    private let window = Guarded(WriteWindow(limit: PartFile.room))
    private let running = Guarded<RunningDigest?>(nil)

    /// The most bytes that wait for the disk: 1 MiB. More would leave the processor's cache before they are written.
    static let room = 1 << 20
    /// The bytes that are read at a time for a digest.
    private static let piece = 1 << 20

    private init(_ open: @escaping @Sendable () throws -> OpenFile) async throws {
        let queue = DispatchQueue(label: "curlew.file")
        file = try await Self.perform(on: queue, open)
        self.queue = queue
    }

    /// Creates a part file beside its destination: `.NAME.RANDOM.part`.
    /// - Parameters:
    ///   - destination: The final path of the file.
    ///   - name: Another name for the part file, which must not exist yet.
    ///   - existing: The rule for an existing file. With ``Destination/ExistingFile/fail`` an existing file is an
    ///     error, before a byte is written.
    ///   - createsFolders: True if missing folders are created.
    ///   - permissions: The permissions of the file, reduced by the umask.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, ``ErrorCode/fileExists``, ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    package static func create(
        beside destination: String, named name: String? = nil, existing: Destination.ExistingFile = .replace,
        createsFolders: Bool = false, permissions: UInt32 = 0o666
    ) async throws -> PartFile {
        try await PartFile {
            try OpenFile(
                beside: destination, named: name, existing: existing, createsFolders: createsFolders,
                permissions: permissions)
        }
    }

    /// Opens an existing part file, to resume it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/partFileInUse`` if the file is locked; ``ErrorCode/fileFailed`` if it
    ///   is missing, is not a regular file, belongs to another user (root excepted), or has several names.
    package static func reopen(_ path: String) async throws -> PartFile {
        try await PartFile { try OpenFile(leftBehindAt: path) }
    }

    /// The path of the file.
    package var path: String { file.path }

    // MARK: Writing

    /// Queues bytes for writing at an offset. Returns when there is room for them, not when they are written.
    /// - Throws: ``CurlewError`` if these or earlier bytes could not be written: ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    package func write(_ bytes: consuming [UInt8], at offset: Int64, recycling: Recycling? = nil) async throws {
        let count = bytes.count
        guard count > 0 else { return }
        if try !window.withLock({ try $0.admit(count) }) { try await waitForRoom(count) }
        let work = Guarded(bytes)
        queue.async {
            var bytes = work.withLock { exchange(&$0, with: []) }
            self.writeNow(bytes, at: offset)
            recycling?(&bytes)
        }
    }

    private func waitForRoom(_ count: Int) async throws {
        try await withCheckedThrowingContinuation { waiter in
            // Room may have become free in the meantime.
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
        // A waiter that a failure wakes has no room reserved.
        if let failure = window.withLock({ $0.failure }) { throw failure }
    }

    /// Writes a chunk; it is called on the queue.
    private func writeNow(_ bytes: [UInt8], at offset: Int64) {
        var failure = window.withLock { $0.failure }
        if failure == nil {
            do {
                try file.write(bytes, at: offset)
                try running.withLock { try $0?.take(bytes, at: offset) }
            } catch {
                failure = error as? CurlewError ?? CurlewError(.fileFailed, "the file failed", underlying: error)
            }
        }
        for waiter in window.withLock({ $0.finish(bytes.count, failure: failure) }) { waiter.resume() }
    }

    /// Waits until all queued bytes are written.
    package func drain() async throws { try await perform { _ in } }

    // MARK: Queue

    /// Performs work after all queued bytes are written.
    /// - Throws: The first write error, if any.
    private func perform<Value: Sendable>(
        _ work: @escaping @Sendable (OpenFile) throws -> Value
    ) async throws -> Value {
        try await Self.perform(on: queue) { [file, window] in
            if let failure = window.withLock({ $0.failure }) { throw failure }
            return try work(file)
        }
    }

    private static func perform<Value: Sendable>(
        on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        // The queue must not hold the last reference to the file: the awakened caller expects it to be closed and its
        // space free.
        let pending = Guarded<(@Sendable () throws -> Value)?>(work)
        return try await withCheckedThrowingContinuation { continuation in
            queue.async {
                let result = Self.finish(pending)
                continuation.resume(with: result)
            }
        }
    }

    /// Performs pending work, and releases it before it returns.
    private static func finish<Value: Sendable>(
        _ pending: Guarded<(@Sendable () throws -> Value)?>
    ) -> Result<Value, any Error> {
        let work = pending.withLock { $0.take() }
        return Result {
            guard let work else { throw CurlewError(.fileFailed, "the work was done already") }
            return try work()
        }
    }

    // MARK: File

    /// The present identity and state of the file.
    package func snapshot() async throws -> FileSnapshot { try await perform { try $0.snapshot() } }

    /// The present identity and state of the file, even after a write error.
    package func lastSnapshot() async throws -> FileSnapshot {
        try await Self.perform(on: queue) { [file] in try file.snapshot() }
    }

    /// Shortens the file, or extends it with zeros.
    package func truncate(to size: Int64) async throws {
        try await perform { [running] file in
            running.withLock { $0 = nil }
            try file.truncate(to: size)
        }
    }

    /// Waits until the written bytes are on the disk.
    package func synchronize() async throws { try await perform { try $0.synchronize() } }

    /// Checks that the disk has room for a number of further bytes. The room is not reserved.
    /// - Throws: ``CurlewError`` with ``ErrorCode/diskFull``.
    package func checkRoom(for count: Int64) async throws { try await perform { try $0.checkRoom(for: count) } }

    /// Checks that the file can be moved to a path later, and creates missing folders if requested. ``commit`` checks
    /// again.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, also for a folder on another file system, to which
    ///   the file cannot be moved; ``ErrorCode/fileExists``; ``ErrorCode/fileFailed``.
    func checkDestination(_ path: String, existing: Destination.ExistingFile, createsFolders: Bool) async throws {
        try await perform { try $0.checkDestination(path, existing: existing, createsFolders: createsFolders) }
    }

    /// Moves the file to its final name, in one step. It must not be written to afterwards.
    /// - Parameters:
    ///   - path: The final path.
    ///   - existing: The rule for an existing file.
    ///   - synchronizes: True if the call waits until the file and its name are on the disk.
    /// - Returns: The path of the file: another one only with ``Destination/ExistingFile/unique``.
    /// - Throws: ``CurlewError``. If the complete file could not be moved, ``CurlewError/file`` has its path.
    package func commit(
        to path: String, existing: Destination.ExistingFile, synchronizes: Bool
    ) async throws -> String {
        try await perform { try $0.commit(to: path, existing: existing, synchronizes: synchronizes) }
    }

    /// Removes the file, even after a write error; but not another file that now has its name, nor the file after its
    /// renaming.
    package func discard() async {
        try? await Self.perform(on: queue) { [file] in file.remove() }
    }

    /// Releases the lock, so that the file can be resumed at once.
    package func release() async {
        try? await Self.perform(on: queue) { [file] in file.unlock() }
    }

    // MARK: Digests

    /// Starts a digest that is updated with each following write, so the file need not be read again.
    /// - Parameter offset: The number of bytes that the file already has; they are read.
    package func follow(_ algorithm: ContentDigest.Algorithm, from offset: Int64 = 0) async throws {
        let digest = Guarded(try MessageDigest(algorithm.function))
        try await feed(0..<offset, to: digest, isCancellable: true)
        try await perform { [running] _ in
            running.withLock { $0 = RunningDigest(algorithm: algorithm, digest: digest, position: offset) }
        }
    }

    /// The digest of a range: the running digest if it covers the range, else a new one by reading the file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    package func digest(of algorithm: ContentDigest.Algorithm, in range: Range<Int64>) async throws -> ContentDigest {
        let grown: ContentDigest? = try await perform { [running] _ in
            try running.withLock { current in
                guard let digest = current, digest.algorithm == algorithm, range == 0..<digest.position else {
                    return nil
                }
                current = nil
                return try digest.finished()
            }
        }
        if let grown { return grown }
        let digest = Guarded(try MessageDigest(algorithm.function))
        try await feed(range, to: digest, isCancellable: true)
        return ContentDigest(algorithm, finished: try digest.withLock { try $0.finishedBytes() })
    }

    /// Reads a range into a digest, even after a write error.
    /// - Parameters:
    ///   - range: The bytes.
    ///   - digest: The digest.
    ///   - isCancellable: True if cancelling the task stops the reading. A token that is made because of a cancellation
    ///     needs false.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    package func feed(
        _ range: Range<Int64>, to digest: Guarded<MessageDigest>, isCancellable: Bool = false
    ) async throws {
        var position = range.lowerBound
        while position < range.upperBound {
            if isCancellable { try Task.checkCancellation() }
            let start = position
            let count = Int(min(Int64(Self.piece), range.upperBound - start))
            position += try await Self.perform(on: queue) { [file] in
                let bytes = try file.read(upTo: count, at: start)
                try digest.withLock { try $0.update(bytes) }
                return Int64(bytes.count)
            }
        }
    }
}

/// A digest that is updated while a file is written from beginning to end.
private struct RunningDigest: Sendable {
    let algorithm: ContentDigest.Algorithm
    let digest: Guarded<MessageDigest>
    /// The offset of the first byte that the digest lacks.
    private(set) var position: Int64

    /// Ignores bytes at another offset; the digest then does not cover the complete file.
    mutating func take(_ bytes: [UInt8], at offset: Int64) throws {
        guard offset == position else { return }
        try digest.withLock { try $0.update(bytes) }
        position += Int64(bytes.count)
    }

    /// The final digest.
    func finished() throws -> ContentDigest {
        ContentDigest(algorithm, finished: try digest.withLock { try $0.finishedBytes() })
    }
}

/// The limit of the bytes that wait for a disk, the waiting callers, and the first failure.
struct WriteWindow {
    typealias Waiter = CheckedContinuation<Void, any Error>

    /// The most waiting bytes. A larger single chunk is written alone.
    let limit: Int
    private var inFlight = 0
    /// The first failure. Nothing is written after it.
    private(set) var failure: CurlewError?
    private var waiting: [(count: Int, waiter: Waiter)] = []

    init(limit: Int) { self.limit = limit }

    /// Admits a number of bytes if there is room and no caller waits for it.
    mutating func admit(_ count: Int) throws -> Bool {
        if let failure { throw failure }
        guard waiting.isEmpty, hasRoom(for: count) else { return false }
        inFlight += count
        return true
    }

    mutating func wait(for count: Int, _ waiter: Waiter) { waiting.append((count, waiter)) }

    /// Removes a number of bytes that are written, or will not be.
    /// - Returns: The waiters to resume.
    mutating func finish(_ count: Int, failure newFailure: CurlewError?) -> [Waiter] {
        inFlight -= count
        failure = failure ?? newFailure
        var woken: [Waiter] = []
        while let first = waiting.first, failure != nil || hasRoom(for: first.count) {
            if failure == nil { inFlight += first.count }
            woken.append(waiting.removeFirst().waiter)
        }
        return woken
    }

    private func hasRoom(for count: Int) -> Bool { inFlight == 0 || inFlight + count <= limit }
}
