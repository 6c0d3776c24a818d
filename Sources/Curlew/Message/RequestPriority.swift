extension RequestOptions {
    /// The priority of a request that waits for its turn: in the session, for a connection, at a ``ConcurrencyLimiter`` or a
    /// ``RequestRateLimiter``.
    public struct Priority: RawRepresentable, Sendable, Hashable, Codable, Comparable {
        /// From 0, the last, to 4, the first; other numbers count as the nearest of these.
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = min(max(rawValue, 0), 4) }

        /// What may wait for everything else, such as prefetching.
        public static let background = Priority(rawValue: 0)
        public static let low = Priority(rawValue: 1)
        /// The priority of requests that have none.
        public static let normal = Priority(rawValue: 2)
        public static let high = Priority(rawValue: 3)
        /// What must not wait for anything else, such as the check of a server's health.
        public static let critical = Priority(rawValue: 4)

        public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
    }

    private enum PriorityKey: Key {
        static let defaultValue = Priority.normal
        static let affectsResponse = false
    }

    /// The priority of the request where it waits for its turn. Of eight turns one is of the request that has waited longest, so that
    /// none waits for ever.
    public var priority: Priority {
        get { isAnySet ? self[PriorityKey.self] : .normal }
        set { self[PriorityKey.self] = newValue }
    }
}
