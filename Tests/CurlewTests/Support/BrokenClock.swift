import Synchronization

/// A clock that cannot wait. It counts the attempts.
final class BrokenClock: Clock {
    struct Failure: Error {}

    private let counter = Atomic(0)

    var sleeps: Int { counter.load(ordering: .relaxed) }
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        counter.add(1, ordering: .relaxed)
        throw Failure()
    }
}
