extension ReachabilityMonitor {
    /// The status of the network as it changes: first as it is now, then each change.
    ///
    /// Any number may listen, each for itself. One that is behind gets the newest status and misses what was between; no status
    /// comes twice in a row. It never ends by itself, only when the task that waits for it is cancelled.
    public struct Updates: AsyncSequence, Sendable {
        public typealias Element = ReachabilityStatus
        public typealias Failure = Never

        let monitor: ReachabilityMonitor

        /// Begins to listen. Whoever listens keeps the monitor alive.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: monitor.listen().makeAsyncIterator()) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var base: AsyncStream<ReachabilityStatus>.AsyncIterator
            private var last: ReachabilityStatus?

            init(base: AsyncStream<ReachabilityStatus>.AsyncIterator) { self.base = base }

            /// The status now, then the newest one that differs from the last; nil if the waiting task is cancelled.
            public mutating func next() async -> ReachabilityStatus? { await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityStatus? {
                while let status = await base.next(isolation: actor) {
                    guard status != last else { continue }
                    last = status
                    return status
                }
                return nil
            }
        }
    }
}
