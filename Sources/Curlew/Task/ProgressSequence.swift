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
    fileprivate func nextProgress(after seen: UInt64) async -> (value: TaskProgress, version: UInt64)? {
        let publisher = subscribe()
        let ticket = takeTicket()
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: nil)
                } else {
                    publisher.wait(after: seen, ticket: ticket, continuation)
                }
            }
        } onCancel: {
            cancelProgress(ticket: ticket)
        }
    }
}
