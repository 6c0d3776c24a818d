extension TaskActor {
    /// How fast the task's bodies may flow, the session's limit aside.
    public var rateLimit: RateLimit { ownRateLimit ?? .none }

    /// Limits how fast the task's bodies may flow, from now on. ``RateLimit/none`` lifts the limit, at once; that of the session
    /// holds on.
    public nonisolated func setRateLimit(_ limit: RateLimit) {
        onLoop { task in
            task.ownRateLimit = limit
            task.rateLimitsChanged()
        }
    }

    /// The task's own limit or that of the session is another now.
    func rateLimitsChanged() { transfer?.setRateLimit(rateLimit) }
}
