/// The figures of an exchange's attempts that have ended, and the waits of the one under way.
struct AttemptFigures {
    private let queued: Duration
    /// When the connection of the attempt began to be made.
    private var connectingSince: Instant?
    private var connecting = Duration.zero
    private var last: TaskMetrics.Attempt?
    /// Empty unless there was more than one: an array allocates.
    private var earlier: [TaskMetrics.Attempt] = []

    /// - Parameter queued: How long the exchange waited for its turn.
    init(queued: Duration = .zero) { self.queued = queued }

    /// First to last.
    var all: [TaskMetrics.Attempt] { earlier + [last].compactMap(\.self) }

    mutating func append(_ figures: TaskMetrics.Attempt) {
        if let last { earlier.append(last) }
        last = figures
    }

    // MARK: The attempt under way

    /// The attempt needs a connection.
    mutating func beginWaiting() {
        connectingSince = nil
        connecting = .zero
    }

    mutating func connectionIsBegun(at now: Instant) { connectingSince = now }

    mutating func connectionIsGivenUp() { connectingSince = nil }

    /// The attempt has its connection.
    mutating func connectionIsThere(at now: Instant) {
        if let connectingSince { connecting = connectingSince.duration(to: now) }
    }

    /// - Parameter waited: How long the attempt waited for a connection.
    func waits(_ waited: Duration, withConnecting: Bool = true) -> TaskMetrics.Attempt.Waits {
        TaskMetrics.Attempt.Waits(queued: queued, waited: waited, connecting: withConnecting ? connecting : .zero)
    }
}
