internal import HTTPTypes

/// The body of a response on its way from the loop to its reader, who may be on any thread.
///
/// Bounded: when `capacity` is reached the loop pauses the transfer, and the reader wakes it once half is free.
/// `@unchecked Sendable`: everything is under `lock`.
final class BodyChannel: @unchecked Sendable {
    typealias Waiter = UnsafeContinuation<[UInt8]?, any Error>

    /// What a reader finds.
    enum Taken {
        /// A chunk, and whether the transfer should be woken.
        case chunk([UInt8], resumes: Bool)
        case end
        case failure(CurlewError)
        case nothing
    }

    private let lock = Lock()
    let ordering = Ordering()
    private let capacity: Int
    @exclusivity(unchecked) private var chunks: [[UInt8]] = []
    @exclusivity(unchecked) private var first = 0
    @exclusivity(unchecked) private var buffered = 0
    private var isPaused = false
    @exclusivity(unchecked) private var end: Result<HTTPFields, CurlewError>?
    private var waiter: Waiter?
    /// Empty chunks whose memory may be filled again, as many as a body has under way at most.
    private var spares: [[UInt8]] = []
    private static let spareLimit = 8

    /// Memory of smaller chunks is left to malloc, which keeps it well by itself; that of large ones it gives back to the
    /// kernel, to be asked for new pages at once.
    static let smallestRecycled = CurlewResponse.Body.smallestRecycled

    /// A chunk that waits for its reader is joined to one before it, if both are smaller than this.
    private static let smallestKept = 16 << 10

    /// So much more room than twice its bytes a chunk that waits may have.
    private static let slack = 64

    /// So many slots that were read stay before the others move up.
    private static let compactionLimit = 64

    /// - Parameter capacity: The most bytes that wait for their reader. They take up twice as much memory at most.
    init(capacity: Int) { self.capacity = capacity }

    // MARK: The loop's side

    /// True if `count` more bytes may be buffered; if not, the transfer pauses and the reader will wake it.
    func admits(_ count: Int, pending: Int) -> Bool {
        lock.withLock {
            let total = buffered + pending
            if total == 0 || total + count <= capacity || end != nil { return true }
            isPaused = true
            return false
        }
    }

    /// Memory for the next chunk: what a reader is done with, if it is not much too small.
    func takeSpare(for count: Int) -> [UInt8] {
        lock.withLock {
            guard let spare = spares.popLast(), spare.capacity >= count / 2 else { return [] }
            return spare
        }
    }

    /// - Returns: Whether the transfer should be woken: it was paused, and a reader took the chunk at once.
    func append(_ chunk: consuming [UInt8]) -> Bool {
        var chunk = chunk
        let (waiting, resumes) = lock.withLock { () -> (Waiter?, Bool) in
            guard let waiter else {
                keepLocked(chunk)
                return (nil, false)
            }
            self.waiter = nil
            defer { isPaused = false }
            return (waiter, isPaused)
        }
        guard let waiting else { return false }
        // Not kept here for a moment longer: the reader may be done with it before this returns, and wants its memory.
        waiting.resume(returning: exchange(&chunk, with: []))
        return resumes
    }

    /// Keeps a chunk until it is read, in hardly more memory than it has bytes: a peer that sends a few at a time to a slow
    /// reader must not fill memory with the room beside them.
    private func keepLocked(_ chunk: [UInt8]) {
        buffered += chunk.count
        let last = chunks.count - 1
        if first <= last, chunk.count < Self.smallestKept, chunks[last].count < Self.smallestKept {
            chunks[last].append(contentsOf: chunk)
        } else if chunk.capacity > 2 * chunk.count + Self.slack {
            // A copy has no more room than it needs.
            chunks.append(chunk.withUnsafeBytes { Array($0) })
        } else {
            chunks.append(chunk)
        }
    }

    /// Ends the body once; what was buffered can still be read.
    func finish(_ result: Result<HTTPFields, CurlewError>) {
        let waiting: Waiter? = lock.withLock {
            guard end == nil else { return nil }
            end = result
            spares = []
            defer { waiter = nil }
            return waiter
        }
        switch result {
        case .success: waiting?.resume(returning: nil)
        case .failure(let error): waiting?.resume(throwing: error)
        }
    }

    // MARK: The reader's side

    /// Takes the memory of a chunk that its reader asked beyond. If the reader has kept the chunk, this makes new memory,
    /// which serves as well.
    func recycle(_ chunk: inout [UInt8]) {
        chunk.removeAll(keepingCapacity: true)
        lock.withLock {
            if spares.count < Self.spareLimit, end == nil { spares.append(chunk) }
        }
        chunk = []
    }

    /// The next chunk, if there is one without waiting.
    func take() -> Taken { lock.withLock { takeLocked() } }

    private func takeLocked() -> Taken {
        if first < chunks.count {
            let chunk = chunks[first]
            chunks[first] = []
            first += 1
            if first == chunks.count || first > max(Self.compactionLimit, chunks.count / 2) {
                chunks.removeFirst(first)
                first = 0
            }
            buffered -= chunk.count
            let resumes = isPaused && buffered <= capacity / 2
            if resumes { isPaused = false }
            return .chunk(chunk, resumes: resumes)
        }
        switch end {
        case .success: return .end
        case .failure(let error): return .failure(error)
        case nil: return .nothing
        }
    }

    /// Waits for the next chunk with `waiter`, unless there is something at once.
    /// - Returns: What there was; `nothing` if the waiter was kept.
    func wait(_ waiter: Waiter) -> Taken {
        lock.withLock {
            let taken = takeLocked()
            guard case .nothing = taken else { return taken }
            guard self.waiter == nil else {
                return .failure(CurlewError(.responseAlreadyTaken, "two readers wait for one body"))
            }
            self.waiter = waiter
            return .nothing
        }
    }

    /// The trailers, once the body has ended well.
    var trailers: HTTPFields? {
        lock.withLock {
            if case .success(let trailers) = end { trailers } else { nil }
        }
    }

    var isFinished: Bool { lock.withLock { end != nil } }
}
