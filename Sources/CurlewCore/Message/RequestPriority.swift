extension RequestOptions {
    /// The priority of a waiting request: in the session, for a connection, at a ``ConcurrencyLimiter`` or a
    /// ``RequestRateLimiter``.
    public struct Priority: RawRepresentable, Sendable, Hashable, Codable, Comparable {
        /// A number from 0, the lowest, to 4, the highest; other numbers are clamped.
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = min(max(rawValue, 0), 4) }

        /// Requests that may wait for all others, such as prefetching.
        public static let background = Priority(rawValue: 0)
        public static let low = Priority(rawValue: 1)
        /// The priority of requests without one.
        public static let normal = Priority(rawValue: 2)
        public static let high = Priority(rawValue: 3)
        /// Requests that must not wait for others, such as a health check of a server.
        public static let critical = Priority(rawValue: 4)

        public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
    }

    private enum PriorityKey: Key {
        static let defaultValue = Priority.normal
        static let affectsResponse = false
    }

    /// The priority of the request while it waits. Every eighth turn goes to the request that has waited longest, so no
    /// request waits for ever.
    public var priority: Priority {
        get { isAnySet ? self[PriorityKey.self] : .normal }
        set { self[PriorityKey.self] = newValue }
    }
}
