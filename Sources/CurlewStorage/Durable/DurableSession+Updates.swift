#if Storage || Postgres
internal import Curlew

extension DurableSession {
    /// The states of a transfer: the current one first, then a snapshot whenever its state or bytes have changed. The
    /// sequence ends after the transfer's end, and at once if the transfer does not exist.
    /// - Parameters:
    ///   - id: The transfer.
    ///   - interval: The minimum time between two elements.
    public func updates(of id: DurableTransfer.ID, every interval: Duration = .milliseconds(250))
        -> Updates<DurableTransfer>
    {
        Updates(interval: interval) { [store] in
            let last = Guarded<StoredTransfer?>(nil)
            return {
                guard let stored = try await store.transfer(id) else { return .end }
                let isNew = last.withLock { last in
                    defer { last = stored }
                    return last != stored
                }
                if stored.state.hasEnded { return .last(DurableTransfer(stored)) }
                return isNew ? .element(DurableTransfer(stored)) : .unchanged
            }
        }
    }

    /// The statistics of the queue: the current ones first, then a snapshot whenever they have changed. The sequence is
    /// endless.
    /// - Parameter interval: The minimum time between two elements.
    public func figures(every interval: Duration = .seconds(1)) -> Updates<Figures> {
        Updates(interval: interval) { [store] in
            let last = Guarded<(figures: Figures, moment: ContinuousClock.Instant)?>(nil)
            return {
                let counts = try await store.counts()
                let running = try await store.list([.running], after: 0, limit: Self.runningLimit)
                let now = ContinuousClock.now
                return last.withLock { last in
                    var figures = Figures(counts: counts, running: running)
                    if let last { figures.measureRate(since: last.figures, during: last.moment.duration(to: now)) }
                    guard figures != last?.figures else { return .unchanged }
                    last = (figures, now)
                    return .element(figures)
                }
            }
        }
    }

    private static let runningLimit = 10_000

    /// The statistics of a queue at one moment.
    public struct Figures: Sendable, Hashable {
        /// The number of transfers in each state that has any.
        public let counts: [DurableTransfer.State: Int]
        /// The bytes that running transfers have transferred, as last recorded by their workers.
        public let transferred: Int64
        /// The total size of running transfers in bytes; nil unless each size is known.
        public let total: Int64?
        /// The bytes per second of transfers that also ran at the previous element; 0 in the first element.
        public private(set) var bytesPerSecond: Double = 0
        private let received: [DurableTransfer.ID: Int64]

        init(counts: [DurableTransfer.State: Int], running: [StoredTransfer]) {
            self.counts = counts
            transferred = running.reduce(0) { $0 + $1.received }
            let totals = running.compactMap(\.total)
            total = totals.count == running.count ? totals.reduce(0, +) : nil
            received = Dictionary(running.map { ($0.id, $0.received) }, uniquingKeysWith: { first, _ in first })
        }

        mutating func measureRate(since before: Figures?, during time: Duration) {
            guard let before, time > .zero else { return }
            var bytes: Int64 = 0
            for (id, count) in received { bytes += max(0, count - (before.received[id] ?? count)) }
            bytesPerSecond = Double(bytes) / (time / .seconds(1))
        }
    }

    /// Snapshots of a queue, taken when the listener requests them. A slow listener misses intermediate states.
    public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
        public typealias Failure = any Error

        enum Look: Sendable {
            case element(Element)
            case unchanged
            case last(Element)
            case end
        }

        typealias Looking = @Sendable () async throws -> Look

        let interval: Duration
        /// Makes the function that a listener queries with.
        let start: @Sendable () -> Looking

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let interval: Duration
            private let look: Looking
            private var isOver = false
            private var hasBegun = false

            init(_ updates: Updates) {
                interval = updates.interval
                look = updates.start()
            }

            /// The next element; nil after the last one, or if the task is cancelled.
            /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed``.
            public mutating func next() async throws -> Element? {
                while !isOver {
                    if hasBegun { do { try await Task.sleep(for: interval) } catch { return nil } }
                    hasBegun = true
                    switch try await look() {
                    case .element(let element): return element
                    case .unchanged: break
                    case .last(let element):
                        isOver = true
                        return element
                    case .end: isOver = true
                    }
                }
                return nil
            }
        }
    }
}
#endif
