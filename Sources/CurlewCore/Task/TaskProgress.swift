/// The progress of a task.
public struct TaskProgress: Sendable, Hashable {
    /// The bytes of a body in one direction.
    public struct Counts: Sendable, Hashable {
        /// The bytes on the wire, without chunked coding and with content codings, which are decoded after the task.
        public package(set) var wire: Int64 = 0
        /// The final number of ``wire`` bytes, if it is known.
        public package(set) var total: Int64?

        /// The completed part, 0 to 1, if the total is known.
        public var fraction: Double? {
            total.map { $0 == 0 ? 1 : min(1, Double(wire) / Double($0)) }
        }
    }

    /// The body of the request.
    public package(set) var sent = Counts()
    /// The body of the response.
    public package(set) var received = Counts()
    /// True if the task has ended, successfully or not: in the last element only.
    public package(set) var isFinished = false

    package init() {}
}

extension TaskProgress {
    /// The progress of a task as a sequence. Each iterator gets the latest value; a slow one misses values, but never
    /// the last.
    public struct Updates: AsyncSequence, Sendable {
        public typealias Element = TaskProgress
        public typealias Failure = Never

        private let exchange: Exchange

        init(of exchange: Exchange) { self.exchange = exchange }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(of: exchange) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let exchange: Exchange
            private var seen: UInt64 = 0
            private var isDone = false

            init(of exchange: Exchange) { self.exchange = exchange }

            /// The latest unseen value. The first call returns at once; the last value is that of the end.
            public mutating func next() async -> TaskProgress? {
                await next(isolation: nil)
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> TaskProgress? {
                guard !isDone, let (value, version) = await exchange.nextProgress(after: seen) else {
                    isDone = true
                    return nil
                }
                seen = version
                isDone = value.isFinished
                return value
            }
        }
    }
}

extension Exchange {
    /// Waits for progress newer than `seen`; nil if the waiting task is cancelled.
    ///
    /// As for the response, the continuation is created on the caller's executor and stored on the loop.
    fileprivate func nextProgress(after seen: UInt64) async -> ProgressPublisher.Element {
        let ticket = ProgressPublisher.Ticket()
        defer { ticket.establishOrdering() }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                onLoop { $0.progressPublisher.wait(after: seen, ticket: ticket, continuation) }
            }
        } onCancel: {
            // The loop may receive the cancellation before the waiter, so the ticket records it.
            ticket.cancel()
            onLoop { $0.progressPublisher.cancel(ticket) }
        }
    }
}

/// Sends the latest progress to its waiters, on the loop, and at most as often as the interval allows.
///
/// Not `Sendable`: it belongs to its task.
final class ProgressPublisher: LoopTimer {
    struct Waiter {
        let ticket: Ticket
        let continuation: UnsafeContinuation<ProgressPublisher.Element, Never>
    }
    /// A value and its number; the number grows with each change.
    typealias Element = (value: TaskProgress, version: UInt64)?

    private(set) var latest: TaskProgress
    private(set) var version: UInt64 = 1
    private let core: LoopCore
    private let interval: Duration
    private var earliest = Instant(nanoseconds: 0)
    private var waiters: [Waiter] = []

    init(_ latest: TaskProgress, timers core: LoopCore, interval: Duration) {
        self.latest = latest
        self.core = core
        self.interval = interval
    }

    func publish(_ progress: TaskProgress) {
        guard progress != latest else { return }
        latest = progress
        version += 1
        guard !waiters.isEmpty else { return }
        if earliest <= core.now { fire() } else { core.timers.set(self, to: earliest) }
    }

    func finish(_ progress: TaskProgress) {
        latest = progress
        version += 1
        fire()
    }

    /// Resumes all waiters.
    override func fire() {
        core.timers.remove(self)
        let resumed = waiters
        waiters = []
        earliest = core.now.advanced(by: interval.nanosecondsClamped)
        for waiter in resumed { resume(waiter, with: (latest, version)) }
    }

    func wait(after seen: UInt64, ticket: Ticket, _ continuation: UnsafeContinuation<Element, Never>) {
        if ticket.isCancelled { return resume(Waiter(ticket: ticket, continuation: continuation), with: nil) }
        if seen < version, latest.isFinished || seen == 0 || earliest <= core.now {
            earliest = core.now.advanced(by: interval.nanosecondsClamped)
            resume(Waiter(ticket: ticket, continuation: continuation), with: (latest, version))
            return
        }
        waiters.append(Waiter(ticket: ticket, continuation: continuation))
        if seen < version { core.timers.set(self, to: earliest) }
    }

    func cancel(_ ticket: Ticket) {
        guard let index = waiters.firstIndex(where: { $0.ticket === ticket }) else { return }
        resume(waiters.remove(at: index), with: nil)
    }

    private func resume(_ waiter: Waiter, with element: Element) {
        waiter.ticket.establishOrdering()
        waiter.continuation.resume(returning: element)
    }

    /// The identity of a waiter, with its cancellation.
    final class Ticket: Sendable {
        private let state = Guarded(false)
        private let ordering = Ordering()

        var isCancelled: Bool { state.withLock { $0 } }

        func cancel() { state.withLock { $0 = true } }

        func establishOrdering() { ordering.establish() }
    }
}
