extension DownloadTask {
    /// The progress of a download over all its attempts: the newest value whenever it is asked for.
    ///
    /// ``TaskProgress/received`` counts what has come of the file, in earlier attempts and processes too; its total is the
    /// length of the file, once it is known. A slow reader misses values, never the last, and
    /// ``SessionConfiguration/progressInterval`` lies between two of them. A download that restarts goes back to zero.
    public struct Progress: AsyncSequence, Sendable {
        public typealias Element = TaskProgress
        public typealias Failure = Never

        let source: DownloadProgressSource

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(source: source)
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let source: DownloadProgressSource
            private var values: AsyncStream<TaskProgress>.AsyncIterator
            private var last: Duration?

            init(source: DownloadProgressSource) {
                self.source = source
                values = source.listen().makeAsyncIterator()
            }

            /// The newest value; the first call answers at once, the last value is the end's and comes with it.
            public mutating func next() async -> TaskProgress? { await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> TaskProgress? {
                let timekeeper = Timekeeper.continuous
                if let last {
                    let left = source.interval - (timekeeper.elapsed() - last)
                    if left > .zero { await timekeeper.first(within: left) { [source] in await source.end() } }
                }
                let value = await values.next(isolation: actor)
                last = timekeeper.elapsed()
                return value
            }
        }
    }
}

/// Hands the newest progress to whoever listens.
final class DownloadProgressSource: Sendable {
    private struct State {
        var latest = TaskProgress()
        var listeners: [AsyncStream<TaskProgress>.Continuation] = []
    }

    /// The shortest time between two values that a reader gets.
    let interval: Duration
    private let state = Guarded(State())

    init(interval: Duration) { self.interval = interval }

    /// The newest value.
    var latest: TaskProgress { state.withLock { $0.latest } }

    func publish(received: Int64, total: Int64?) {
        change { latest in
            latest.received.wire = received
            latest.received.total = total
        }
    }

    func finish() {
        let listeners = change { $0.isFinished = true }
        for listener in listeners { listener.finish() }
        state.withLock { $0.listeners = [] }
    }

    /// Waits for the end of the download.
    func end() async { for await latest in listen() where latest.isFinished { return } }

    func listen() -> AsyncStream<TaskProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TaskProgress.self, bufferingPolicy: .bufferingNewest(1))
        let latest = state.withLock { state in
            if !state.latest.isFinished { state.listeners.append(continuation) }
            // Under the lock, so that no older value comes after a newer one.
            continuation.yield(state.latest)
            return state.latest
        }
        if latest.isFinished { continuation.finish() }
        return stream
    }

    @discardableResult
    private func change(_ change: (inout TaskProgress) -> Void) -> [AsyncStream<TaskProgress>.Continuation] {
        state.withLock { state in
            change(&state.latest)
            // Whoever has gone is forgotten.
            state.listeners.removeAll { listener in
                if case .terminated = listener.yield(state.latest) { true } else { false }
            }
            return state.listeners
        }
    }
}
