import Curlew

/// The tasks of a call: one for each redirect and each attempt.
final class CallTasks: Sendable {
    private let stream: AsyncStream<TaskActor>
    private let continuation: AsyncStream<TaskActor>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(of: TaskActor.self) }

    func follow(_ options: inout RequestOptions) {
        options.onTask = { [continuation] in continuation.yield($0) }
    }

    /// All tasks, once each has ended.
    var finished: [TaskActor] {
        get async {
            continuation.finish()
            var tasks: [TaskActor] = []
            for await task in stream {
                for await progress in task.progress where progress.isFinished { break }
                tasks.append(task)
            }
            return tasks
        }
    }
}
