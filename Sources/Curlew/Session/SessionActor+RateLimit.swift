extension SessionActor {
    /// How fast the bodies of all the session's tasks together may flow.
    public nonisolated var rateLimit: RateLimit { rate.limit }

    /// Limits how fast the bodies of all the session's tasks together may flow, those under way included.
    ///
    /// The tasks take turns, a piece of at most 16 KiB each, on whichever of the session's loops they are; one that has a
    /// smaller limit of its own leaves the rest to the others. ``RateLimit/none`` lifts the limit, at once.
    public nonisolated func setRateLimit(_ limit: RateLimit) {
        rate.change(to: limit)
        for shard in shards {
            shard.loop.core.execute { shard.enter(()) { shard, _ in shard.rateLimitChanged() } }
        }
    }
}
