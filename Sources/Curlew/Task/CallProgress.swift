/// One progress over all the tasks of a call.
///
/// A call may take several tasks, one after the other, as after a redirect, a challenge or a retry, and each begins to count at
/// 0. This follows the newest. It is a sequence for one reader, who gets the newest element each time and may miss others.
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
    /// How far a call has got.
    public struct Element: Sendable {
        /// The number of the task within the call, from 1.
        public let attempt: Int
        /// The task.
        public let task: TaskActor
        /// How far it has got. ``TaskProgress/isFinished`` speaks of the task, not of the call.
        public let progress: TaskProgress
    }

    public typealias Failure = Never

    private let state = State()

    public init() {}

    /// Follows the tasks of calls with these options, beside what ``RequestOptions/onTask`` does already. A task that is made by
    /// hand with them is followed, and kept, until it ends: it has to be started or cancelled.
    public func follow(_ options: inout RequestOptions) {
        let before = options.onTask
        options.onTask = { [state] task in
            before?(task)
            state.follow(task)
        }
    }

    /// No further task is to come. The sequence ends when the last one has ended.
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

        /// An older task has no say once there is a newer one.
        private func publish(_ element: Element) {
            // Under the lock, lest a newer task's comes before it. What it pushes out is released outside.
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
