extension Retry {
    /// The number of attempts, and the waits between them. ``Retry``, downloads, uploads and durable transfers each
    /// have their own.
    ///
    /// | | ``attempts`` | ``backoff`` | ``retryAfterLimit`` | ``totalTime`` |
    /// | --- | --- | --- | --- | --- |
    /// | ``Retry`` | 3 | 100 ms to 10 s | 60 s | 2 minutes |
    /// | ``DownloadTask/Options/retries`` | 1 | 100 ms to 10 s | 60 s | unlimited |
    /// | ``ResumableUpload/Options/retries`` | 10 in a row | 1 s to 60 s | 5 minutes | unlimited |
    /// | `DurableSession.Options.retries` | 20 | 1 s to 10 minutes | a day | unlimited |
    public struct Policy: Sendable {
        /// The largest number of attempts, including the first; 1 disables retries.
        public var attempts: Int
        /// The wait if the server asks for none.
        public var backoff: Backoff
        /// The longest Retry-After that is accepted. If the server asks for more, there is no further attempt. The
        /// backoff is added to Retry-After, so that clients do not retry at the same moment.
        public var retryAfterLimit: Duration
        /// The time from the beginning after which no attempt begins. The default of a policy is
        /// ``Timeouts/unlimited``.
        public var totalTime: Duration

        public init(
            attempts: Int = 3, backoff: Backoff = Backoff(), retryAfterLimit: Duration = .seconds(60),
            totalTime: Duration = Timeouts.unlimited
        ) {
            self.attempts = attempts
            self.backoff = backoff
            self.retryAfterLimit = retryAfterLimit
            self.totalTime = totalTime
        }

        /// The wait before the next attempt.
        /// - Parameters:
        ///   - failures: The number of failed attempts, or of consecutive ones.
        ///   - asked: The wait that the server asks for by Retry-After; nil for none.
        /// - Returns: nil if the server asks for more than ``retryAfterLimit``.
        package func wait(after failures: Int, asked: Duration?) -> Duration? {
            guard let asked else { return backoff.wait(after: failures) }
            return asked <= retryAfterLimit ? asked + backoff.wait(after: failures) : nil
        }

        /// True if an attempt may begin after a wait.
        /// - Parameter elapsed: The time from the beginning to now.
        package func allows(_ wait: Duration, elapsed: Duration) -> Bool {
            totalTime.isUnlimited || wait <= totalTime - elapsed
        }
    }
}
