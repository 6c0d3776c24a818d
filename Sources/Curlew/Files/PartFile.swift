internal import Dispatch
internal import Glibc

/// A file being written under another name beside its destination, until it is whole.
///
/// Everything happens on a queue of its own, off the loop and off Swift's threads. At most ``room`` bytes are on their way to
/// the disk; who writes more waits.
final class PartFile: Sendable {
    /// Gets the bytes of a chunk back when they are written, so that their memory can be used again.
    typealias Recycling = @Sendable (inout [UInt8]) -> Void

    private let file: OpenFile
    private let queue: DispatchQueue
    private let window = Guarded(WriteWindow(limit: PartFile.room))
    private let running = Guarded<RunningDigest?>(nil)

    /// The most bytes on their way to the disk: 1 MiB. More of them would leave the processor's cache before they are written.
    static let room = 1 << 20
    /// The bytes that are read at a time for a digest.
    private static let piece = 1 << 20

    private init(_ open: @escaping @Sendable () throws -> OpenFile) async throws {
        let queue = DispatchQueue(label: "curlew.file")
        file = try await Self.perform(on: queue, open)
        self.queue = queue
    }

    /// Makes a file beside another one that it is to become: `.NAME.RANDOM.part`.
    /// - Parameters:
    ///   - destination: The path that the file is to have in the end.
    ///   - name: Another name than that, which nothing may have.
    ///   - existing: What happens to a file that is there. With ``Destination/ExistingFile/fail`` this throws, before a byte is written.
    ///   - createsFolders: Whether missing folders are made.
    ///   - permissions: Those of the file, without the bits of the umask.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, ``ErrorCode/fileExists``, ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    static func create(
        beside destination: String, named name: String? = nil, existing: Destination.ExistingFile = .replace,
        createsFolders: Bool = false, permissions: mode_t = 0o666
    ) async throws -> PartFile {
        try await PartFile {
            try OpenFile(
                beside: destination, named: name, existing: existing, createsFolders: createsFolders,
                permissions: permissions)
        }
    }

    /// Opens a file that was left behind, to resume it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/partFileInUse`` if somebody else has it; ``ErrorCode/fileFailed`` if it is
    ///   not there, or is no regular file, if it belongs to another user (root excepted), or has several names.
    static func reopen(_ path: String) async throws -> PartFile {
        try await PartFile { try OpenFile(leftBehindAt: path) }
    }

    /// Where it lies.
    var path: String { file.path }

    // MARK: Writing

    /// Hands bytes over to be written at an offset. Returns when there is room for them, not when they are written.
    /// - Throws: ``CurlewError`` if they or earlier ones could not be written: ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    func write(_ bytes: consuming [UInt8], at offset: Int64, recycling: Recycling? = nil) async throws {
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

    /// Waits until all that was handed over is written.
    func drain() async throws { try await perform { _ in } }

    // MARK: The queue

    /// Does something after all that was handed over is written.
    /// - Throws: Why that could not be written, if so.
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
        // The queue must not be the last to hold the file: who has been woken finds it closed, and its room free.
        let pending = Guarded<(@Sendable () throws -> Value)?>(work)
        return try await withCheckedThrowingContinuation { continuation in
            queue.async {
                let result = Self.finish(pending)
                continuation.resume(with: result)
            }
        }
    }

    /// Does work that is pending, and has released it when it returns.
    private static func finish<Value: Sendable>(
        _ pending: Guarded<(@Sendable () throws -> Value)?>
    ) -> Result<Value, any Error> {
        let work = pending.withLock { $0.take() }
        return Result {
            guard let work else { throw CurlewError(.fileFailed, "the work was done already") }
            return try work()
        }
    }

    // MARK: The file

    /// Its identity and its state now.
    func snapshot() async throws -> FileSnapshot { try await perform { try $0.snapshot() } }

    /// The same, be it that writing has failed.
    func lastSnapshot() async throws -> FileSnapshot {
        try await Self.perform(on: queue) { [file] in try file.snapshot() }
    }

    /// Cuts the file off, or lengthens it with zeros.
    func truncate(to size: Int64) async throws {
        try await perform { [running] file in
            running.withLock { $0 = nil }
            try file.truncate(to: size)
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() async throws { try await perform { try $0.synchronize() } }

    /// Checks that the disk has room for so many more bytes. Nothing is reserved: others may take it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/diskFull``.
    func checkRoom(for count: Int64) async throws { try await perform { try $0.checkRoom(for: count) } }

    /// Checks that the file can be given a path in the end, and makes missing folders if wanted. ``commit`` checks again.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, also for a folder on another file system, to which
    ///   nothing can be moved; ``ErrorCode/fileExists``; ``ErrorCode/fileFailed``.
    func checkDestination(_ path: String, existing: Destination.ExistingFile, createsFolders: Bool) async throws {
        try await perform { try $0.checkDestination(path, existing: existing, createsFolders: createsFolders) }
    }

    /// Gives the file its name, in one step. It must not be written to afterwards.
    /// - Parameters:
    ///   - path: The path that it is to have.
    ///   - existing: What happens to a file that is there.
    ///   - synchronizes: Whether to wait until the file, and its name, are on the disk.
    /// - Returns: Its path: another one only with ``Destination/ExistingFile/unique``.
    /// - Throws: ``CurlewError``. If the bytes are whole and could not be moved, ``CurlewError/file`` says where they lie.
    func commit(to path: String, existing: Destination.ExistingFile, synchronizes: Bool) async throws -> String {
        try await perform { try $0.commit(to: path, existing: existing, synchronizes: synchronizes) }
    }

    /// Removes the file, be it that writing has failed. Not what has taken its name, nor what it has become.
    func discard() async {
        try? await Self.perform(on: queue) { [file] in file.remove() }
    }

    /// Gives up the lock, so that whoever resumes the file can have it at once.
    func release() async {
        try? await Self.perform(on: queue) { [file] in file.unlock() }
    }

    // MARK: Digests

    /// From now on what is written next to what is there makes a digest grow, so that the file need not be read again.
    /// - Parameter offset: How much is there; it is read.
    func follow(_ algorithm: ContentDigest.Algorithm, from offset: Int64 = 0) async throws {
        let digest = Guarded(try MessageDigest(algorithm.function))
        try await feed(0..<offset, to: digest, isCancellable: true)
        try await perform { [running] _ in
            running.withLock { $0 = RunningDigest(algorithm: algorithm, digest: digest, position: offset) }
        }
    }

    /// The digest of a range: what has grown with the writing if it is that, else by reading it again.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    func digest(of algorithm: ContentDigest.Algorithm, in range: Range<Int64>) async throws -> ContentDigest {
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

    /// Reads a range into a digest, be it that writing has failed.
    /// - Parameters:
    ///   - range: The bytes.
    ///   - digest: The digest.
    ///   - isCancellable: Whether a cancelled task reads no further. Who makes a token because it was cancelled has to.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    func feed(_ range: Range<Int64>, to digest: Guarded<MessageDigest>, isCancellable: Bool = false) async throws {
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

/// A digest that grows with a file that is written from its beginning to its end.
private struct RunningDigest: Sendable {
    let algorithm: ContentDigest.Algorithm
    let digest: Guarded<MessageDigest>
    /// The first byte that it does not have.
    private(set) var position: Int64

    /// Bytes that are not the next ones leave it where it is: it is then not that of the whole file.
    mutating func take(_ bytes: [UInt8], at offset: Int64) throws {
        guard offset == position else { return }
        try digest.withLock { try $0.update(bytes) }
        position += Int64(bytes.count)
    }

    /// The digest; nothing can follow.
    func finished() throws -> ContentDigest {
        ContentDigest(algorithm, finished: try digest.withLock { try $0.finishedBytes() })
    }
}

/// The bytes that are on their way to a disk: how many at a time, and the first failure.
struct WriteWindow {
    typealias Waiter = CheckedContinuation<Void, any Error>

    /// The most bytes on their way; a single piece may be larger, and then goes alone.
    let limit: Int
    private var inFlight = 0
    /// The first failure. Nothing is written after it.
    private(set) var failure: CurlewError?
    private var waiting: [(count: Int, waiter: Waiter)] = []

    init(limit: Int) { self.limit = limit }

    /// Takes so many bytes in if there is room and nobody waits for it.
    mutating func admit(_ count: Int) throws -> Bool {
        if let failure { throw failure }
        guard waiting.isEmpty, hasRoom(for: count) else { return false }
        inFlight += count
        return true
    }

    mutating func wait(for count: Int, _ waiter: Waiter) { waiting.append((count, waiter)) }

    /// So many bytes are written, or will not be.
    /// - Returns: Who need wait no longer.
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
