#if TestKit
internal import Curlew
internal import CurlewTesting

/// Compares the resources of the process before and after a function.
struct LeakCheck: Sendable {
    /// The maximum time until resources that the function left must disappear.
    let patience: Duration

    /// The resources that `function` has left, in words.
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
            // The end of a thread or a descriptor has no event, so this loop polls, for a bounded time.
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// A marker that every task started by a function holds, as the value of a task-local, until the task ends.
private final class TaskPresence: Sendable {
    @TaskLocal private static var current: TaskPresence?

    /// A weak reference that reports if a task still holds the marker.
    struct Watch {
        fileprivate weak var presence: TaskPresence?

        var isKept: Bool { self.presence != nil }
    }

    /// Runs a function whose tasks hold a marker.
    static func watch(_ function: @Sendable @concurrent () async throws -> Void) async throws -> Watch {
        let presence = TaskPresence()
        let watch = Watch(presence: presence)
        try await Self.$current.withValue(presence) { try await function() }
        return watch
    }
}
#endif
