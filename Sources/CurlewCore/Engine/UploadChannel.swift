/// The body of a request between the task that produces it and the loop that sends it. The channel is bounded.
///
/// `@unchecked Sendable`: all state is under `lock`.
final class UploadChannel: @unchecked Sendable {
    enum Taken {
        case bytes(Int)
        case wait
        case end
        case failure(CurlewError)
    }

    /// A waiting chunk, in memory of Curlew or of another library.
    private enum Chunk {
        case bytes([UInt8])
        case relayed(any BodyChunk)
        case read

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .relayed(let chunk): chunk.count
            case .read: 0
            }
        }

        func copy(from offset: Int, into space: UnsafeMutableRawBufferPointer) {
            switch self {
            case .bytes(let bytes):
                bytes.withUnsafeBytes {
                    space.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + space.count)]))
                }
            case .relayed(let chunk): chunk.copy(from: offset, into: space)
            case .read: break
            }
        }
    }

    /// The number of read slots that stay before the others move up.
    private static let compactionLimit = 64

    private let lock = Lock()
    private let capacity: Int
    private var chunks: [Chunk] = []
    private var first = 0
    private var offset = 0
    private var buffered = 0
    private var end: Result<Void, CurlewError>?
    private var isClosed = false
    private var writer: UnsafeContinuation<Bool, Never>?
    private var pendingRead: PendingRead?
    private var isReaderWaiting = false
    private let wakeReader: @Sendable () -> Void

    /// - Parameter wakeReader: Called, on any thread, when there are bytes for a loop that found none.
    init(capacity: Int, wakeReader: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.wakeReader = wakeReader
    }

    /// A range of a file that is read when no chunk waits, and the caller that waits for its end.
    private struct PendingRead {
        let file: any CachedFile
        var position: Int64
        let end: Int64
        let waiter: UnsafeContinuation<DirectRead?, Never>
    }

    // MARK: Producer

    /// Adds a chunk, and waits while the channel is full.
    /// - Returns: False if the channel is closed.
    func write(_ chunk: [UInt8]) async -> Bool { await write(Chunk.bytes(chunk)) }

    func write(relayed chunk: any BodyChunk) async -> Bool { await write(Chunk.relayed(chunk)) }

    private func write(_ chunk: Chunk) async -> Bool {
        if chunk.count == 0 { return lock.withLock { !isClosed } }
        return await withUnsafeContinuation { continuation in
            var answer: Bool?
            let wakes = lock.withLock { () -> Bool in
                if isClosed {
                    answer = false
                    return false
                }
                chunks.append(chunk)
                buffered += chunk.count
                if buffered < capacity { answer = true } else { writer = continuation }
                defer { isReaderWaiting = false }
                return isReaderWaiting
            }
            if wakes { wakeReader() }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Makes the loop read a range of a file itself, after the waiting chunks.
    /// - Returns: The end of the read; nil if the channel is closed.
    func readDirectly(_ file: any CachedFile, _ range: Range<Int64>) async -> DirectRead? {
        await withUnsafeContinuation { waiter in
            let (isRefused, wakes) = lock.withLock {
                if isClosed { return (true, false) }
                pendingRead = PendingRead(
                    file: file, position: range.lowerBound, end: range.upperBound, waiter: waiter)
                defer { isReaderWaiting = false }
                return (false, isReaderWaiting)
            }
            if wakes { wakeReader() }
            if isRefused { waiter.resume(returning: nil) }
        }
    }

    func finish(_ result: Result<Void, CurlewError>) {
        let wakes = lock.withLock {
            if end == nil { end = result }
            defer { isReaderWaiting = false }
            return isReaderWaiting
        }
        if wakes { wakeReader() }
    }

    // MARK: Loop

    /// The continuation that is resumed after the lock is released.
    private enum Resumption {
        case none
        case writer(UnsafeContinuation<Bool, Never>)
        case reader(UnsafeContinuation<DirectRead?, Never>, DirectRead)

        func perform() {
            switch self {
            case .none: break
            case .writer(let writer): writer.resume(returning: true)
            case .reader(let waiter, let read): waiter.resume(returning: read)
            }
        }
    }

    /// Copies available bytes into `space`.
    func read(into space: UnsafeMutableRawBufferPointer) -> Taken {
        let (taken, resumption) = lock.withLock {
            let count = takeChunks(into: space)
            if count > 0 { return (Taken.bytes(count), takeWriter()) }
            switch end {
            case .success: return (.end, .none)
            case .failure(let error): return (.failure(error), .none)
            case nil: return takeFile(into: space)
            }
        }
        resumption.perform()
        return taken
    }

    private func takeChunks(into space: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < space.count, first < chunks.count {
            let part = min(space.count - count, chunks[first].count - offset)
            chunks[first].copy(
                from: offset, into: UnsafeMutableRawBufferPointer(rebasing: space[count..<(count + part)]))
            count += part
            offset += part
            if offset == chunks[first].count { dropFirst() }
        }
        buffered -= count
        return count
    }

    private func takeWriter() -> Resumption {
        guard buffered <= capacity / 2, let writer else { return .none }
        self.writer = nil
        return .writer(writer)
    }

    /// Continues to read the file. The lock is held, but no other thread needs it: the producer waits for this read.
    private func takeFile(into space: UnsafeMutableRawBufferPointer) -> (Taken, Resumption) {
        guard var read = pendingRead, !space.isEmpty else {
            isReaderWaiting = true
            return (.wait, .none)
        }
        let count = Int(min(Int64(space.count), read.end - read.position))
        let found = read.file.readCached(
            at: read.position, into: UnsafeMutableRawBufferPointer(rebasing: space[..<count]))
        if case .bytes(let count) = found, count > 0 {
            read.position += Int64(count)
            pendingRead = read.position < read.end ? read : nil
            guard read.position == read.end else { return (.bytes(count), .none) }
            return (.bytes(count), .reader(read.waiter, DirectRead(position: read.end, outcome: .completed)))
        }
        var outcome = DirectRead.Outcome.notCached
        if case .unsupported = found { outcome = .unsupported }
        pendingRead = nil
        isReaderWaiting = true
        return (.wait, .reader(read.waiter, DirectRead(position: read.position, outcome: outcome)))
    }

    private func dropFirst() {
        chunks[first] = .read
        first += 1
        offset = 0
        if first == chunks.count || first > Self.compactionLimit {
            chunks.removeFirst(first)
            first = 0
        }
    }

    /// Closes the channel, and informs the producer that no more bytes are wanted.
    func close() {
        let (waiting, reader) = lock.withLock {
            isClosed = true
            isReaderWaiting = false
            chunks = []
            first = 0
            buffered = 0
            defer {
                writer = nil
                pendingRead = nil
            }
            return (writer, pendingRead?.waiter)
        }
        waiting?.resume(returning: false)
        reader?.resume(returning: nil)
    }
}
