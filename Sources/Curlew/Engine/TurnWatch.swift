internal import Glibc
internal import Synchronization

/// Measures the turns of all event loops while a test wants it: how much of its thread's processor time each takes. Time in
/// which a loop waits, or in which the machine does something else, is none.
package enum TurnWatch {
    private static let isOn = Atomic(false)
    private static let longest = Atomic<Int64>(0)

    /// Begins to measure, anew if it does already.
    package static func start() {
        longest.store(0, ordering: .relaxed)
        isOn.store(true, ordering: .relaxed)
    }

    /// Ends measuring.
    /// - Returns: The longest turn that ended since it began.
    package static func stop() -> Duration {
        isOn.store(false, ordering: .relaxed)
        return .nanoseconds(longest.load(ordering: .relaxed))
    }

    /// What ``turnEnds(after:)`` wants to know; nil while nobody measures. Called on a loop.
    static func turnBegins() -> Int64? { isOn.load(ordering: .relaxed) ? processorTime() : nil }

    static func turnEnds(after start: Int64) { longest.max(processorTime() - start, ordering: .relaxed) }

    /// Nanoseconds that this thread has had.
    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
