/// The body of a request on its way from the task that produces it to the loop that sends it. Bounded.
///
/// `@unchecked Sendable`: everything is under `lock`.
final class UploadChannel: @unchecked Sendable {
    enum Taken {
        case bytes(Int)
        case wait
        case end
        case failure(CurlewError)
    }

    /// So many slots that were read stay before the others move up.
    private static let compactionLimit = 64

    private let lock = Lock()
    private let capacity: Int
    private var chunks: [[UInt8]] = []
    private var first = 0
    private var offset = 0
    private var buffered = 0
    private var end: Result<Void, CurlewError>?
    private var isClosed = false
    private var writer: UnsafeContinuation<Bool, Never>?
    private var loan: Loan?
    private var isReaderWaiting = false
    private let wakeReader: @Sendable () -> Void

    /// - Parameter wakeReader: Called, on any thread, when there is something for a loop that found nothing.
    init(capacity: Int, wakeReader: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.wakeReader = wakeReader
    }

    /// A range of a file that is read when no chunk waits, and who waits for it to be through.
    private struct Loan {
        let file: FileReader
        var position: Int64
        let end: Int64
        let lender: UnsafeContinuation<ReturnedLoan?, Never>

        func give(back reason: ReturnedLoan.Reason) {
            lender.resume(returning: ReturnedLoan(position: position, reason: reason))
        }
    }

    // MARK: The producer's side

    /// Hands over a chunk, waiting while the channel is full.
    /// - Returns: False if nobody will read it.
    func write(_ chunk: [UInt8]) async -> Bool {
        if chunk.isEmpty { return lock.withLock { !isClosed } }
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

    func lend(_ file: FileReader, _ range: Range<Int64>) async -> ReturnedLoan? {
        await withUnsafeContinuation { lender in
            let (isRefused, wakes) = lock.withLock {
                if isClosed { return (true, false) }
                loan = Loan(file: file, position: range.lowerBound, end: range.upperBound, lender: lender)
                defer { isReaderWaiting = false }
                return (false, isReaderWaiting)
            }
            if wakes { wakeReader() }
            if isRefused { lender.resume(returning: nil) }
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

    // MARK: The loop's side

    /// Copies what there is into `space`.
    func read(into space: UnsafeMutableRawBufferPointer) -> Taken {
        let (taken, waiting) = lock.withLock { () -> (Taken, UnsafeContinuation<Bool, Never>?) in
            var count = 0
            while count < space.count, first < chunks.count {
                let part = min(space.count - count, chunks[first].count - offset)
                chunks[first].withUnsafeBytes { bytes in
                    let target = UnsafeMutableRawBufferPointer(rebasing: space[count..<(count + part)])
                    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + part)]))
                }
                count += part
                offset += part
                if offset == chunks[first].count { dropFirst() }
            }
            buffered -= count
            if count > 0 {
                guard buffered <= capacity / 2 else { return (.bytes(count), nil) }
                defer { writer = nil }
                return (.bytes(count), writer)
            }
            switch end {
            case .success: return (.end, nil)
            case .failure(let error): return (.failure(error), nil)
            case nil:
                if let count = readLoan(into: space) { return (.bytes(count), nil) }
                isReaderWaiting = true
                return (.wait, nil)
            }
        }
        waiting?.resume(returning: true)
        return taken
    }

    /// Reads on in the file that is lent, and gives it back when it is through or does not go on. To be called under `lock`,
    /// which nobody wants meanwhile: the producer waits for this.
    private func readLoan(into space: UnsafeMutableRawBufferPointer) -> Int? {
        guard var loan, !space.isEmpty else { return nil }
        let count = Int(min(Int64(space.count), loan.end - loan.position))
        let found = loan.file.readCached(
            at: loan.position, into: UnsafeMutableRawBufferPointer(rebasing: space[..<count]))
        self.loan = nil
        guard case .bytes(let read) = found, read > 0 else {
            if case .unknown = found { loan.give(back: .isUnknown) } else { loan.give(back: .needsDisk) }
            return nil
        }
        loan.position += Int64(read)
        if loan.position == loan.end { loan.give(back: .isThrough) } else { self.loan = loan }
        return read
    }

    private func dropFirst() {
        chunks[first] = []
        first += 1
        offset = 0
        if first == chunks.count || first > Self.compactionLimit {
            chunks.removeFirst(first)
            first = 0
        }
    }

    /// Lets the producer know that nothing more is wanted.
    func close() {
        let (waiting, lender) = lock.withLock {
            isClosed = true
            isReaderWaiting = false
            chunks = []
            first = 0
            buffered = 0
            defer {
                writer = nil
                loan = nil
            }
            return (writer, loan?.lender)
        }
        waiting?.resume(returning: false)
        lender?.resume(returning: nil)
    }
}
