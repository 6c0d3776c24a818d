/// What a task needs of the session that made it: a part of the session, on the task's loop. It outlives the session in the
/// session's tasks.
protocol TaskHost: AnyObject, Sendable {
    var loop: CurlewEventLoop { get }
    /// Where the task publishes what happens to it.
    var broadcaster: Broadcaster<SessionEvent> { get }
    /// As much of a body as an event keeps.
    var eventBodyLimit: Int { get }
    var progressInterval: Duration { get }

    /// What the tasks that begin now go out on. On the loop, as what follows.
    var engine: MultiHandle { get }

    /// Takes a task in. One that waits is asked to begin when its turn comes.
    func admit(_ task: TaskActor) -> TaskAdmission

    /// The task has ended, wherever it was.
    /// - Parameter heldPlace: Whether its turn had come.
    func ended(_ task: TaskActor, heldPlace: Bool)
}

/// The answer to a task that wants to start.
enum TaskAdmission {
    case begins
    case waits
    case isRefused
}
