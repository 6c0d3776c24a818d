public import HTTPTypes

// What can be seen of a task, at any moment.
extension TaskActor {
    /// Where the task is in its life.
    public var state: TaskState { lifecycle.state }

    /// The task's figures up to this moment.
    public var metrics: TaskMetrics {
        guard lifecycle.hasStarted else { return TaskMetrics(attempts: attempts) }
        let now = endedAt ?? loop.core.now
        return TaskMetrics(
            attempts: attempts, start: startedAt.date, duration: startedAt.duration(to: now),
            suspended: holdTime.total(at: now))
    }

    /// The status of the response, once its head has come.
    public var status: HTTPResponse.Status? { head?.status }

    /// How far the task has got at this moment.
    public var currentProgress: TaskProgress { latest }

    /// The interim responses (1xx), those that have come and those to come, at most ``ResponseLimits/interimResponses``.
    /// It ends when the final head arrives or the task ends.
    public var interimResponses: AsyncStream<HTTPResponse> {
        let (stream, continuation) = AsyncStream.makeStream(of: HTTPResponse.self)
        interim.forEach { continuation.yield($0) }
        if head != nil || lifecycle.state.isEnd { continuation.finish() } else { interimListeners.append(continuation) }
        return stream
    }
}
