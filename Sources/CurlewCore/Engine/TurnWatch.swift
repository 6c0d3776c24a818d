internal import CurlewPlatform
internal import Synchronization

/// Measures the turns of all event loops for tests: the processor time of each turn in its thread. Time in which a loop
/// waits, or in which other work runs, is not counted.
package enum TurnWatch {
    private static let isOn = Atomic(false)
    private static let longest = Atomic<Int64>(0)

    /// Starts or restarts the measurement.
    package static func start() {
        longest.store(0, ordering: .relaxed)
        isOn.store(true, ordering: .relaxed)
    }

    /// Ends the measurement.
    /// - Returns: The longest turn that ended during the measurement.
    package static func stop() -> Duration {
        isOn.store(false, ordering: .relaxed)
        return .nanoseconds(longest.load(ordering: .relaxed))
    }

    /// The argument of ``turnEnds(after:)``; nil without a measurement. Called on a loop.
    static func turnBegins() -> Int64? { isOn.load(ordering: .relaxed) ? processorTime() : nil }

    static func turnEnds(after start: Int64) { longest.max(processorTime() - start, ordering: .relaxed) }

    /// The processor time of this thread in nanoseconds.
    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
