internal import Curlew

/// The buffer of received parts of messages. Its reader may run on any thread.
final class MessageInbox: Sendable {
    private struct State {
        var parts: [CurlewWebSocket.Part] = []
        var first = 0
        var size = 0
        /// True if the loop has stopped reading.
        var isPaused = false
        /// The bytes of a message whose last part is not taken.
        var collected: [UInt8]?
    }

    private let state = Guarded(State())
    private let limit: Int
    /// The memory of a part in addition to its bytes. Empty messages count as well.
    private static let overhead = 64
    /// The minimum number of taken parts before the array is compacted.
    private static let compactionLimit = 64

    /// - Parameter limit: The size at which reading pauses.
    init(limit: Int) { self.limit = limit }

    /// True if reading must pause. The reader then reports when there is room again.
    func pausesReading() -> Bool {
        state.withLock { state in
            state.isPaused = state.size >= limit
            return state.isPaused
        }
    }

    /// The size of the buffered parts.
    var size: Int { state.withLock { $0.size } }
    /// True if parts of an incomplete message were taken.
    var hasCollected: Bool { state.withLock { $0.collected != nil } }
    var isEmpty: Bool { state.withLock { $0.first == $0.parts.count } }

    func append(_ part: CurlewWebSocket.Part) {
        state.withLock { state in
            state.parts.append(part)
            state.size += part.bytes.count + Self.overhead
        }
    }

    /// Takes the first part.
    /// - Returns: The part, and true if the loop must resume reading.
    func take() -> (part: CurlewWebSocket.Part, resumes: Bool)? {
        state.withLock { state in
            guard state.first < state.parts.count else { return nil }
            let part = state.parts[state.first]
            state.first += 1
            state.size -= part.bytes.count + Self.overhead
            if state.first == state.parts.count {
                state.parts.removeAll(keepingCapacity: true)
                state.first = 0
            } else if state.first > max(Self.compactionLimit, state.parts.count / 2) {
                state.parts.removeFirst(state.first)
                state.first = 0
            }
            let resumes = state.isPaused && state.size <= limit / 2
            if resumes { state.isPaused = false }
            return (part, resumes)
        }
    }

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

    func removeAll() { state.withLock { $0 = State() } }
}
