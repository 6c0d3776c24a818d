/// The metrics of an exchange's ended attempts, and the waits of the running one.
struct AttemptFigures {
    private let queued: Duration
    /// The start of making the attempt's connection.
    private var connectingSince: Instant?
    private var connecting = Duration.zero
    private var last: TaskMetrics.Attempt?
    /// The attempts before the last one. Empty with a single attempt, because an array allocates memory.
    private var earlier: [TaskMetrics.Attempt] = []

    /// - Parameter queued: The time of the exchange in the session's queue.
    init(queued: Duration = .zero) { self.queued = queued }

    /// The ended attempts in order.
    var all: [TaskMetrics.Attempt] {
        guard let last else { return [] }
        return earlier.isEmpty ? [last] : earlier + [last]
    }

    mutating func append(_ figures: TaskMetrics.Attempt) {
        if let last { earlier.append(last) }
        last = figures
    }

    // MARK: Running attempt

    /// Records that the attempt needs a connection.
    mutating func beginWaiting() {
        connectingSince = nil
        connecting = .zero
    }

    mutating func connectionIsBegun(at now: Instant) { connectingSince = now }

    mutating func connectionIsGivenUp() { connectingSince = nil }

    /// Records that the attempt has its connection.
    mutating func connectionIsThere(at now: Instant) {
        if let connectingSince { connecting = connectingSince.duration(to: now) }
    }

    /// - Parameter waited: The time for which the attempt waited for a connection.
    func waits(_ waited: Duration, withConnecting: Bool = true) -> TaskMetrics.Attempt.Waits {
        TaskMetrics.Attempt.Waits(queued: queued, waited: waited, connecting: withConnecting ? connecting : .zero)
    }
}
