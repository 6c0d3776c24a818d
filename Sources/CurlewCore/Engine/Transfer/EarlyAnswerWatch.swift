/// The check whether the body of a request is still being sent, after an HTTP/2 server has responded early.
struct EarlyAnswerWatch {
    /// The time of the last progress of the connection, and the number of bytes written by then.
    private var lastProgress = Instant(nanoseconds: 0)
    private var written: Int64? = -1

    /// The time of the next check.
    /// - Parameter activity: The time of the last byte in either direction.
    func deadline(after activity: Instant) -> Instant {
        max(activity, lastProgress).advanced(by: Attempt.earlyAnswerPatience)
    }

    /// Ends the checks, because the body was sent.
    mutating func end() { lastProgress = .distantFuture }

    /// True if no byte was written to the connection since the last check.
    /// - Parameter written: The bytes written so far, if that is known.
    mutating func hasStopped(written: Int64?, at now: Instant) -> Bool {
        guard written != self.written else { return true }
        self.written = written
        lastProgress = now
        return false
    }
}
