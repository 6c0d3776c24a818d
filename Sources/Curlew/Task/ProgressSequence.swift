/// The progress of a task. Each iterator gets the newest value; a slow one misses values, never the last.
public struct ProgressSequence: AsyncSequence, Sendable {
    public typealias Element = TaskProgress
    public typealias Failure = Never

    let task: TaskActor

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(task: task) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let task: TaskActor
        private var seen: UInt64 = 0
        private var isDone = false

        init(task: TaskActor) { self.task = task }

        /// The newest value that was not seen yet; the first call answers at once, the last value is the end's.
        public mutating func next() async -> TaskProgress? {
            await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> TaskProgress? {
            guard !isDone, let (value, version) = await task.nextProgress(after: seen) else {
                isDone = true
                return nil
            }
            seen = version
            isDone = value.isFinished
            return value
        }
    }
}

extension TaskActor {
    /// Waits for progress newer than `seen`; nil if the waiting task is cancelled.
    ///
    /// Like the response's, the continuation is made on the caller's side and kept on the loop.
    fileprivate nonisolated func nextProgress(after seen: UInt64) async -> ProgressPublisher.Element {
        let ticket = ProgressPublisher.Ticket()
        defer { ticket.rendezvous() }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                onLoop { $0.publisher().wait(after: seen, ticket: ticket, continuation) }
            }
        } onCancel: {
            // The loop may learn of this before it learns of the waiting, so the ticket keeps it.
            ticket.cancel()
            onLoop { $0.publisher().cancel(ticket) }
        }
    }
}
