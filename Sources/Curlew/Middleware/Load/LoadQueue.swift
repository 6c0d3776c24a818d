/// The place where requests wait for their turns, for ``ConcurrencyLimiter`` and ``RequestRateLimiter``.
public struct LoadQueue: Sendable, Hashable {
    /// The most requests of a group that wait. 1,000 by default; 0 lets none wait.
    public var capacity: Int
    /// The longest wait. 10 seconds by default; ``Timeouts/unlimited`` is no limit. The call's own
    /// ``RequestOptions/totalTimeout`` holds all the same.
    public var timeout: Duration
    /// True if a newcomer takes the place of whoever has waited longest of those with the least priority when the queue is full:
    /// under lasting overload its caller has given up soonest. A newcomer of less priority than all that wait is refused. False by
    /// default: the newcomer is refused.
    public var dropsOldest: Bool
    /// True if a call is refused at once whose ``RequestOptions/totalTimeout`` would be over before an answer could come, as far as
    /// that is known from those before: the quickest answer of the last 10 to 20 seconds, and those who are ahead in the queue. True by default.
    public var shedsLateCalls: Bool

    public init(
        capacity: Int = 1000, timeout: Duration = .seconds(10), dropsOldest: Bool = false, shedsLateCalls: Bool = true
    ) {
        self.capacity = max(0, capacity)
        self.timeout = max(.zero, timeout)
        self.dropsOldest = dropsOldest
        self.shedsLateCalls = shedsLateCalls
    }

    /// Nobody waits: what has no place is refused.
    public static let none = LoadQueue(capacity: 0)
}
