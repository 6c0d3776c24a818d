/// When an ``EventSource`` connects again.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// How long to wait first, until the server gives a time of its own (`retry:`). 3 seconds by default, as in browsers.
    public var delay: Duration
    /// The shortest wait, whatever the server says: with `retry: 0` it would be asked without a pause. 500 ms by default.
    public var minimumDelay: Duration
    /// The longest wait. It doubles with each attempt that fails before a stream was open, up to this; a longer time that
    /// the server gave is kept. 5 minutes by default.
    public var maximumDelay: Duration
    /// How many attempts in a row may fail before the source gives up. nil, the default, never does.
    public var attempts: Int?

    public init(
        delay: Duration = .seconds(3), maximumDelay: Duration = .seconds(300), attempts: Int? = nil,
        minimumDelay: Duration = .milliseconds(500)
    ) {
        self.delay = delay
        self.maximumDelay = maximumDelay
        self.attempts = attempts
        self.minimumDelay = minimumDelay
    }

    /// How long to wait.
    /// - Parameters:
    ///   - base: The server's time, if it gave one.
    ///   - failures: How many attempts in a row have failed.
    func wait(base: Duration?, failures: Int) -> Duration {
        let base = max(base ?? delay, minimumDelay, .zero)
        guard failures > 1, base < maximumDelay else { return base }
        var wait = base
        for _ in 1..<min(failures, 64) where wait < maximumDelay { wait *= 2 }
        return min(wait, maximumDelay)
    }
}
