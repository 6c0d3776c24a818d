/// Looks whether the body of a request still leaves, once an HTTP/2 server has answered before it was sent.
struct EarlyAnswerWatch {
    /// When the connection was last seen to take bytes, and how many it had taken.
    private var lastProgress = Instant(nanoseconds: 0)
    private var written: Int64? = -1

    /// The moment of the next look.
    /// - Parameter activity: When a byte last went either way.
    func deadline(after activity: Instant) -> Instant {
        max(activity, lastProgress).advanced(by: Attempt.earlyAnswerPatience)
    }

    /// The body was sent: nothing is to be looked for.
    mutating func end() { lastProgress = .distantFuture }

    /// True if the connection has taken no byte since the last look.
    /// - Parameter written: The bytes that it has taken so far, if that is known.
    mutating func hasStopped(written: Int64?, at now: Instant) -> Bool {
        guard written != self.written else { return true }
        self.written = written
        lastProgress = now
        return false
    }
}
