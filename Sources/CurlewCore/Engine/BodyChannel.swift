internal import HTTPTypes

/// The body of a response between the loop and its reader, which may be on any thread.
///
/// The channel is bounded: at `capacity` the loop pauses the transfer, and the reader wakes it once half of the
/// capacity is free. `@unchecked Sendable`: all state is under `lock`.
final class BodyChannel: @unchecked Sendable {
    typealias Waiter = UnsafeContinuation<[UInt8]?, any Error>

    /// The result of a read.
    enum Taken {
        /// A chunk; `resumes` is true if the transfer should be woken.
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
    /// Empty chunks whose memory is reused. The limit is the greatest number of chunks of a body in use at a time.
    private var spares: [[UInt8]] = []
    private static let spareLimit = 8

    /// The smallest chunk whose memory is recycled. malloc keeps smaller blocks itself; it returns large blocks to the
    /// kernel, and new pages would be requested at once.
    static let smallestRecycled = CurlewResponse.Body.smallestRecycled

    /// Two adjacent waiting chunks are joined if both are smaller than this.
    private static let smallestKept = 16 << 10

    /// The capacity of a waiting chunk may exceed twice its bytes by this number.
    private static let slack = 64

    /// The number of read slots that stay before the others move up.
    private static let compactionLimit = 64

    /// - Parameter capacity: The greatest number of bytes that wait for their reader. Their memory is at most twice as
    ///   large.
    init(capacity: Int) { self.capacity = capacity }

    // MARK: Loop

    /// True if `count` more bytes may be buffered. Otherwise the transfer pauses, and the reader will wake it.
    func admits(_ count: Int, pending: Int) -> Bool {
        lock.withLock {
            let total = buffered + pending
            if total == 0 || total + count <= capacity || end != nil { return true }
            isPaused = true
            return false
        }
    }

    /// Memory for the next chunk: a chunk that a reader has finished with, unless it is much too small.
    func takeSpare(for count: Int) -> [UInt8] {
        lock.withLock {
            guard let spare = spares.popLast(), spare.capacity >= count / 2 else { return [] }
            return spare
        }
    }

    /// - Returns: True if the transfer should be woken: it was paused, and a reader took the chunk at once.
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
        // The chunk is released here before the reader resumes: the reader may finish with it before this returns, and
        // recycles its memory.
        waiting.resume(returning: exchange(&chunk, with: []))
        return resumes
    }

    /// Keeps a chunk until it is read, in little more memory than its bytes. Otherwise a peer that sends few bytes at a
    /// time to a slow reader would fill memory with unused capacity.
    private func keepLocked(_ chunk: [UInt8]) {
        buffered += chunk.count
        let last = chunks.count - 1
        if first <= last, chunk.count < Self.smallestKept, chunks[last].count < Self.smallestKept {
            chunks[last].append(contentsOf: chunk)
        } else if chunk.capacity > 2 * chunk.count + Self.slack {
            // A copy has no unused capacity.
            chunks.append(chunk.withUnsafeBytes { Array($0) })
        } else {
            chunks.append(chunk)
        }
    }

    /// Ends the body once; buffered chunks can still be read.
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

    // MARK: Reader

    /// Accepts the memory of a chunk after its reader has requested the next one. If the reader has kept the chunk,
    /// this makes new memory, which is also usable.
    func recycle(_ chunk: inout [UInt8]) {
        chunk.removeAll(keepingCapacity: true)
        lock.withLock {
            if spares.count < Self.spareLimit, end == nil { spares.append(chunk) }
        }
        chunk = []
    }

    /// The next chunk, if it is available without waiting.
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

    /// Waits for the next chunk with `waiter`, unless a result is available at once.
    /// - Returns: The available result; `nothing` if the waiter was stored.
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

    /// The trailers, once the body has ended without an error.
    var trailers: HTTPFields? {
        lock.withLock {
            if case .success(let trailers) = end { trailers } else { nil }
        }
    }

    var isFinished: Bool { lock.withLock { end != nil } }
}
