#if Storage || Postgres
internal import Curlew

extension DurableSession {
    /// A transfer, now and whenever its state or its bytes have changed; ends after its end, and at once if there is none of that name.
    /// - Parameters:
    ///   - id: Which.
    ///   - interval: The least time between two elements.
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

    /// The figures of the queue, now and whenever they have changed; endless.
    /// - Parameter interval: The least time between two elements.
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

    /// The figures of a queue at a moment.
    public struct Figures: Sendable, Hashable {
        /// The number of transfers in each state in which there are any.
        public let counts: [DurableTransfer.State: Int]
        /// The bytes that those that run have transferred, as their workers last wrote it down.
        public let transferred: Int64
        /// The bytes in all of those that run, if that is known of each.
        public let total: Int64?
        /// The bytes a second of those that run and ran already at the element before; 0 in the first.
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

    /// What changes in a queue, as it was when it was looked at: what changes faster than its listener asks is left out.
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
        /// What a listener looks by.
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

            /// The next element; nil after the last, or if the task is cancelled.
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
