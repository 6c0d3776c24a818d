internal import Curlew
internal import Synchronization

/// The buffer of received parts of messages, and the task that waits for them. Its reader may run on any thread.
///
/// The loop resumes a waiting reader directly. The reader therefore changes threads once for each message.
final class MessageInbox: Sendable {
    /// The result of ``take()``.
    enum Taken {
        /// A part, and true if the loop must resume reading.
        case part(CurlewWebSocket.Part, resumes: Bool)
        /// The end of the messages.
        case end
        /// The error that has ended the messages.
        case failure(CurlewError)
        /// The inbox is empty. The reader waits by ``wait(_:)`` with this number.
        case nothing(Int)
    }

    private struct State {
        var parts: [CurlewWebSocket.Part] = []
        var first = 0
        /// True if the loop has stopped reading. The reader reports room once.
        var isPaused = false
        /// The bytes of a message whose last part is not taken.
        var collected: [UInt8]?
        /// The end of the messages after the buffered parts.
        var end: Result<Void, CurlewError>?
        /// The waiting reader, and the number of its wait.
        var reader: (number: Int, continuation: UnsafeContinuation<Void, any Error>)?
        var lastNumber = 0

        var isEmpty: Bool { first == parts.count }

        /// Removes and returns the reader if it need not wait any more.
        mutating func takeReader() -> UnsafeContinuation<Void, any Error>? {
            guard let reader, !isEmpty || end != nil else { return nil }
            self.reader = nil
            return reader.continuation
        }
    }

    private let state = Guarded(State())
    /// The size of the buffered parts. It changes under the lock.
    private let bufferedSize = Atomic(0)
    private let limit: Int
    /// The memory of a part in addition to its bytes. Empty messages count as well.
    private static let overhead = 64
    /// The minimum number of taken parts before the array is compacted.
    private static let compactionLimit = 64

    /// - Parameter limit: The size at which reading pauses.
    init(limit: Int) { self.limit = limit }

    /// The size of the buffered parts.
    var size: Int { bufferedSize.load(ordering: .relaxed) }
    /// True if parts of an incomplete message were taken.
    var hasCollected: Bool { state.withLock { $0.collected != nil } }
    /// True if a reader waits.
    var hasReader: Bool { state.withLock { $0.reader != nil } }

    // MARK: The loop

    /// True if reading must pause. The reader then reports when there is room again.
    func pausesReading() -> Bool {
        // The loop alone adds parts, so an inbox that is not full stays so until the loop adds one.
        guard size >= limit else { return false }
        return state.withLock { state in
            guard size >= limit else { return false }
            state.isPaused = true
            return true
        }
    }

    /// Adds a part. The waiting reader is resumed by ``deliver()``.
    func append(_ part: CurlewWebSocket.Part) {
        state.withLock { state in
            state.parts.append(part)
            bufferedSize.add(part.bytes.count + Self.overhead, ordering: .relaxed)
        }
    }

    /// Resumes the waiting reader if there is a part or an end.
    func deliver() { state.withLock { $0.takeReader() }?.resume() }

    /// Ends the messages.
    /// - Parameter error: The error that has ended them; nil if either side has closed the WebSocket.
    func finish(throwing error: CurlewError?) {
        state.withLock { $0.end = error.map { .failure($0) } ?? .success(()) }
        deliver()
    }

    func removeAll() {
        state.withLock { state in
            state.parts = []
            state.first = 0
            state.isPaused = false
            state.collected = nil
            bufferedSize.store(0, ordering: .relaxed)
        }
    }

    // MARK: The reader

    /// Takes the first part.
    func take() -> Taken {
        state.withLock { state in
            guard !state.isEmpty else {
                switch state.end {
                case .success: return .end
                case .failure(let error): return .failure(error)
                case nil:
                    state.lastNumber += 1
                    return .nothing(state.lastNumber)
                }
            }
            let part = state.parts[state.first]
            state.first += 1
            let size = bufferedSize.subtract(part.bytes.count + Self.overhead, ordering: .relaxed).newValue
            if state.isEmpty {
                state.parts.removeAll(keepingCapacity: true)
                state.first = 0
            } else if state.first > max(Self.compactionLimit, state.parts.count / 2) {
                state.parts.removeFirst(state.first)
                state.first = 0
            }
            let resumes = state.isPaused && size <= limit / 2
            if resumes { state.isPaused = false }
            return .part(part, resumes: resumes)
        }
    }

    /// Waits for a part or an end.
    /// - Parameter number: The number that ``take()`` has returned.
    func wait(_ number: Int) async throws {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                if let result = register(continuation, number) { continuation.resume(with: result) }
            }
        } onCancel: {
            let cancelled = state.withLock { state -> UnsafeContinuation<Void, any Error>? in
                guard let reader = state.reader, reader.number == number else { return nil }
                state.reader = nil
                return reader.continuation
            }
            cancelled?.resume(throwing: CurlewError.taskCancelled)
        }
    }

    /// Registers the reader.
    /// - Returns: The result of the wait if the reader need not wait.
    private func register(
        _ continuation: UnsafeContinuation<Void, any Error>, _ number: Int
    ) -> Result<Void, any Error>? {
        state.withLock { state in
            guard state.isEmpty, state.end == nil else { return .success(()) }
            // A cancellation before the registration found no reader.
            if Task.isCancelled { return .failure(CurlewError.taskCancelled) }
            guard state.reader == nil else {
                return .failure(
                    CurlewError(.responseAlreadyTaken, "two readers wait for the messages of one WebSocket"))
            }
            state.reader = (number, continuation)
            return nil
        }
    }

    // MARK: Messages

    /// Joins the parts of a message. The joined parts are kept if a reader stops in the middle of the message.
    /// - Parameter part: The part that was taken.
    /// - Returns: The bytes of the message if the part is its last. The rest of a message whose beginning was read in
    ///   parts is discarded.
    func collect(_ part: CurlewWebSocket.Part) -> [UInt8]? {
        if part.isFirst, part.isLast { return part.bytes }
        return state.withLock { state in
            if part.isFirst {
                state.collected = part.bytes
            } else {
                state.collected?.append(contentsOf: part.bytes)
            }
            guard part.isLast else { return nil }
            defer { state.collected = nil }
            return state.collected
        }
    }

    /// The part that a reader of parts gets. It includes the earlier parts that ``collect(_:)`` has joined.
    func extend(_ part: CurlewWebSocket.Part) -> CurlewWebSocket.Part {
        state.withLock { state in
            guard let collected = state.collected else { return part }
            state.collected = nil
            guard !part.isFirst else { return part }
            return CurlewWebSocket.Part(
                kind: part.kind, bytes: collected + part.bytes, isFirst: true, isLast: part.isLast)
        }
    }
}
