extension ReachabilityMonitor {
    /// The status of the network: the present one, followed by each change.
    ///
    /// Any number of listeners may iterate independently. A slow listener gets the newest status and skips intermediate
    /// ones; a status never occurs twice in succession. The sequence only ends when the waiting task is cancelled.
    public struct Updates: AsyncSequence, Sendable {
        public typealias Element = ReachabilityStatus
        public typealias Failure = Never

        let monitor: ReachabilityMonitor

        /// Begins to listen. The iterator keeps the monitor alive.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: monitor.listen().makeAsyncIterator()) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var base: AsyncStream<ReachabilityStatus>.AsyncIterator
            private var last: ReachabilityStatus?

            init(base: AsyncStream<ReachabilityStatus>.AsyncIterator) { self.base = base }

            /// The present status first, later the newest status that differs from the last; nil if the waiting task is
            /// cancelled.
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
