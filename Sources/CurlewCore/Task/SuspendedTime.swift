/// The time for which a task was suspended after it had started.
struct SuspendedTime: Sendable {
    private var since: Instant?
    private var past: Int64 = 0

    mutating func begin(at now: Instant) { if since == nil { since = now } }

    mutating func end(at now: Instant) {
        guard let since else { return }
        past += now.nanoseconds - since.nanoseconds
        self.since = nil
    }

    /// The sum up to `now`.
    func total(at now: Instant) -> Duration {
        var whole = self
        whole.end(at: now)
        return .nanoseconds(whole.past)
    }
}
