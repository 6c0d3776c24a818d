/// How long to wait before a request is sent again: any time up to a bound that doubles with each failure ("full jitter"),
/// so that many clients do not come back at one moment.
public struct Backoff: Sendable {
    /// The bound after the first failure. 100 ms by default.
    public var base: Duration
    /// What the bound never exceeds. 10 seconds by default.
    public var maximum: Duration
    /// Yields numbers from 0 up to 1, one a wait: which part of the bound is waited. By default the system's random numbers;
    /// tests put a fixed or seeded source in its place.
    public var random: @Sendable () -> Double

    public init(
        base: Duration = .milliseconds(100), maximum: Duration = .seconds(10),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.base = base
        self.maximum = maximum
        self.random = random
    }

    /// The longest wait after so many failures.
    func bound(after failures: Int) -> Duration {
        // Beyond a day nothing is meant, and doubling must not overflow.
        let limit = min(max(maximum, .zero), .seconds(86_400))
        let first = min(max(base, .zero), limit)
        return min(first * (1 << min(max(failures, 1) - 1, 30)), limit)
    }

    func wait(after failures: Int) -> Duration {
        bound(after: failures) * min(max(random(), 0), 1)
    }
}
