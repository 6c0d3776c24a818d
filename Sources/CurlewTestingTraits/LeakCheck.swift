#if TestKit
internal import Curlew
internal import CurlewTesting

/// Compares what the process holds before and after a function.
struct LeakCheck: Sendable {
    /// The longest time that what it left may take to go away.
    let patience: Duration

    /// What `function` has left behind, in words.
    func leaks(of function: @Sendable @concurrent () async throws -> Void) async throws -> [String] {
        SharedThreads.start()
        let resources = ProcessResources.now()
        let tasks = await SessionRegistry.tasks()
        let presence = try await TaskPresence.watch(function)
        let end = ContinuousClock.now + self.patience
        while true {
            var left = ProcessResources.now().beyond(resources)
            left += await SessionRegistry.tasks().filter { tasks[$0.key] == nil }.map { "\($0.key) (\($0.value))" }
            if presence.isKept { left.append("a task that the test started") }
            if left.isEmpty || ContinuousClock.now >= end { return left }
            // There is no event for a thread's or a descriptor's end: look again, for a bounded while.
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Is held by every task that was started while a function ran, as the value of a task-local, until the task ends.
private final class TaskPresence: Sendable {
    @TaskLocal private static var current: TaskPresence?

    /// Tells whether a presence is held.
    struct Watch {
        fileprivate weak var presence: TaskPresence?

        var isKept: Bool { self.presence != nil }
    }

    /// Runs a function whose tasks hold a presence.
    static func watch(_ function: @Sendable @concurrent () async throws -> Void) async throws -> Watch {
        let presence = TaskPresence()
        let watch = Watch(presence: presence)
        try await Self.$current.withValue(presence) { try await function() }
        return watch
    }
}
#endif
