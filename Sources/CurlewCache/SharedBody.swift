/// A body between the task that reads it ahead and its reader. The task waits while more than `limit` bytes are unread.
final class SharedBody: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var waiting = 0
        var end: Result<Void, any Error>?
        var isDropped = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Guarded(State())
    private let limit: Int
    private let onDrop: @Sendable () -> Void

    /// - Parameter onDrop: Called once the reader has released the body.
    init(limit: Int, onDrop: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.onDrop = onDrop
    }

    /// The reading end.
    var chunks: Chunks { Chunks(end: ReadingEnd(self)) }

    /// Adds a chunk, and waits until there is room for another.
    func append(_ chunk: [UInt8]) async {
        let (reader, isFull) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard !state.isDropped else { return (nil, false) }
            state.chunks.append(chunk)
            state.waiting += chunk.count
            defer { state.reader = nil }
            return (state.reader, state.waiting > limit)
        }
        reader?.resume()
        if isFull {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.waiting <= limit || state.isDropped { return true }
                    state.writer = continuation
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
    }

    func finish(_ end: Result<Void, any Error>) {
        let reader = state.withLock { state in
            state.end = state.end ?? end
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    private func drop() {
        let writer = state.withLock { state in
            state.isDropped = true
            // Unread chunks remain, so a later read must fail instead of reporting the end.
            if state.end == nil || !state.chunks.isEmpty {
                state.end = .failure(CurlewError(.cancelled, "the task was cancelled"))
            }
            state.chunks = []
            defer { state.writer = nil }
            return state.writer
        }
        writer?.resume()
        onDrop()
    }

    private func next() async throws -> [UInt8]? {
        while true {
            let (taken, writer) = state.withLock {
                state -> (Result<[UInt8]?, any Error>?, CheckedContinuation<Void, Never>?) in
                if !state.chunks.isEmpty {
                    let chunk = state.chunks.removeFirst()
                    state.waiting -= chunk.count
                    guard state.waiting <= limit / 2 else { return (.success(chunk), nil) }
                    defer { state.writer = nil }
                    return (.success(chunk), state.writer)
                }
                return (state.end.map { end in end.map { nil } }, nil)
            }
            writer?.resume()
            if let taken { return try taken.get() }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isReady = state.withLock { state in
                        if !state.chunks.isEmpty || state.end != nil { return true }
                        state.reader = continuation
                        return false
                    }
                    if isReady { continuation.resume() }
                }
            } onCancel: {
                drop()
                finish(.failure(CurlewError(.cancelled, "the task was cancelled")))
            }
        }
    }

    /// Ends the reading when its last reference is released.
    fileprivate final class ReadingEnd: Sendable {
        let body: SharedBody

        init(_ body: SharedBody) { self.body = body }

        deinit { body.drop() }
    }

    struct Chunks: AsyncSequence, Sendable {
        fileprivate let end: ReadingEnd

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let end: ReadingEnd

            mutating func next() async throws -> [UInt8]? { try await end.body.next() }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(end: end) }
    }
}
