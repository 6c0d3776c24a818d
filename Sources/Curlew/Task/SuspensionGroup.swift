/// Stops and restarts the tasks of one call together: those under way, and those that later attempts bring.
final class SuspensionGroup: Sendable {
    private struct WeakTask {
        weak var task: TaskActor?
    }

    private struct State {
        var isHeld = false
        var tasks: [WeakTask] = []
    }

    private let state = Guarded(State())

    /// True if the bytes are to be stopped. A task looks here when it starts.
    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// Takes in a task that has not started.
    func add(_ task: TaskActor) {
        state.withLock { state in
            state.tasks.removeAll { $0.task == nil }
            state.tasks.append(WeakTask(task: task))
        }
    }

    func suspend() { change(to: true) { $0.suspend() } }

    func resume() { change(to: false) { $0.resume() } }

    /// The tasks are called under the lock, so that the last change is the last that reaches each of them.
    private func change(to isHeld: Bool, _ tell: (TaskActor) -> Void) {
        state.withLock { state in
            guard state.isHeld != isHeld else { return }
            state.isHeld = isHeld
            state.tasks.compactMap(\.task).forEach(tell)
        }
    }
}

extension RequestOptions {
    private enum GroupKey: SourceKey { static let defaultValue: SuspensionGroup? = nil }

    /// What stops and restarts the tasks of all attempts together.
    var suspensionGroup: SuspensionGroup? {
        get { self[GroupKey.self] }
        set { self[GroupKey.self] = newValue }
    }
}
