extension DownloadTask {
    /// The progress of a download over all its attempts. Each read returns the newest value.
    ///
    /// ``TaskProgress/received`` counts the received bytes of the file, including those of earlier attempts and
    /// processes. Its total is the length of the file, once it is known. A slow reader misses values, but not the last.
    /// ``SessionConfiguration/progressInterval`` is the shortest time between two values. The progress of a download
    /// that restarts returns to zero.
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

            /// The newest value. The first call returns immediately. The last value comes with the end of the download.
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

/// Sends the newest progress to its listeners.
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
            // The value is sent under the lock, so that no older value follows a newer one.
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
            // Terminated listeners are removed.
            state.listeners.removeAll { listener in
                if case .terminated = listener.yield(state.latest) { true } else { false }
            }
            return state.listeners
        }
    }
}
