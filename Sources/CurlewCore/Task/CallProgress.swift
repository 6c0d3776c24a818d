/// The progress of all the tasks of a call, as one sequence.
///
/// A call may consist of several consecutive tasks, for example after a redirect, a challenge or a retry, and each task
/// counts from 0. The sequence follows the latest one. It is for one reader, which gets the latest element each time
/// and may miss earlier ones.
///
/// ```swift
/// let progress = CallProgress()
/// var options = RequestOptions()
/// progress.follow(&options)
/// Task { for await step in progress { print(step.attempt, step.progress.sent.wire) } }
/// let response = try await api.put("recordings/1", .file(path), options: options)
/// progress.finish()
/// ```
public struct CallProgress: AsyncSequence, Sendable {
    /// The progress of a call.
    public struct Element: Sendable {
        /// The number of the task within the call, from 1.
        public let attempt: Int
        /// The task.
        public let task: TaskActor
        /// The task's progress. ``TaskProgress/isFinished`` concerns the task, not the call.
        public let progress: TaskProgress
    }

    public typealias Failure = Never

    private let state = State()

    public init() {}

    /// Follows the tasks of calls with these options. An existing ``RequestOptions/onTask`` closure is still called.
    ///
    /// A task that is created by hand with these options is followed, and retained, until it ends: it must be started
    /// or cancelled.
    public func follow(_ options: inout RequestOptions) {
        let before = options.onTask
        options.onTask = { [state] task in
            before?(task)
            state.follow(task)
        }
    }

    /// Announces that no further task will follow. The sequence ends when the last task has ended.
    public func finish() { state.finish() }

    public func makeAsyncIterator() -> AsyncStream<Element>.AsyncIterator { state.stream.makeAsyncIterator() }

    private final class State: Sendable {
        private struct Counts {
            var attempt = 0
            var running = 0
            var isFinished = false
        }

        let stream: AsyncStream<Element>
        private let continuation: AsyncStream<Element>.Continuation
        private let counts = Guarded(Counts())

        init() {
            (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
        }

        deinit { continuation.finish() }

        func follow(_ task: TaskActor) {
            let attempt = counts.withLock { counts in
                counts.attempt += 1
                counts.running += 1
                return counts.attempt
            }
            Task {
                for await progress in task.progress {
                    publish(Element(attempt: attempt, task: task, progress: progress))
                }
                end { $0.running -= 1 }
            }
        }

        /// Publishes an element, unless it comes from an older task than the latest.
        private func publish(_ element: Element) {
            // The lock keeps the elements of tasks in order. The element that `yield` displaces is released outside of
            // the lock.
            let pushedOut = counts.withLock { $0.attempt == element.attempt ? continuation.yield(element) : nil }
            withExtendedLifetime(pushedOut) {}
        }

        func finish() { end { $0.isFinished = true } }

        private func end(_ change: (inout Counts) -> Void) {
            let isOver = counts.withLock { counts in
                change(&counts)
                return counts.isFinished && counts.running == 0
            }
            if isOver { continuation.finish() }
        }
    }
}
