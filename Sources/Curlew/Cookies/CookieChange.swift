/// What happened to a cookie in a jar.
public struct CookieChange: Sendable, Hashable {
    /// A kind of change. New ones may be added; keep a `default`.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable {
        /// The kind in a word.
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is new.
        public static let added = Kind(rawValue: "added")
        /// It took the place of the one with the same name, domain and path.
        public static let updated = Kind(rawValue: "updated")
        /// It was deleted, by the caller or by a server that set it with a date in the past.
        public static let removed = Kind(rawValue: "removed")
        /// Its time was over when somebody looked.
        public static let expired = Kind(rawValue: "expired")
        /// It had to make room (``CookieLimits``).
        public static let evicted = Kind(rawValue: "evicted")
    }

    /// What happened.
    public let kind: Kind
    /// The cookie: the new one if there is one, else the one that has gone.
    public let cookie: Cookie

    init(_ kind: Kind, _ cookie: Cookie) {
        self.kind = kind
        self.cookie = cookie
    }
}

/// The changes of a jar, for any number of listeners. Each gets those that happen after it began to listen; of those that it
/// has not taken yet the newest ``CookieLimits/changeBufferSize`` are kept. It ends with the jar.
public struct CookieChanges: AsyncSequence, Sendable {
    public typealias Element = CookieChange
    public typealias Failure = Never

    let broadcaster: Broadcaster<CookieChange>

    /// Begins to listen: at once, not with the first `next`.
    public func makeAsyncIterator() -> AsyncStream<CookieChange>.AsyncIterator {
        broadcaster.listen().makeAsyncIterator()
    }
}
