internal import HTTPTypes

/// The attempts of an upload, or a part of it, and the waits between them.
struct UploadPatience: Sendable {
    private let settings: ResumableUpload.Options
    /// The start of the upload, or of its part.
    private let start = Instant.now
    /// The number of consecutive attempts without progress.
    private var failures = 0
    private var restarts = 0

    init(_ settings: ResumableUpload.Options) { self.settings = settings }

    /// True if the newly confirmed bytes justify the sent bytes. A server that confirms one byte per request would
    /// otherwise receive the rest of the file again and again.
    /// - Parameters:
    ///   - gain: The bytes that are confirmed beyond the furthest offset so far.
    ///   - sent: The bytes that were sent beyond that offset.
    ///   - left: The bytes that were not confirmed before.
    static func isProgress(gain: Int64, sent: Int64, left: Int64) -> Bool {
        gain > 0 && gain >= min(left, UploadLimits.leastAppend) && gain >= sent / 64
    }

    mutating func succeed() { failures = 0 }

    /// - Throws: The error, if a forgotten upload must not restart again.
    mutating func restart(after error: CurlewError) throws {
        guard restarts < settings.restarts else { throw error }
        restarts += 1
        failures = 0
    }

    /// Counts an attempt without progress.
    /// - Throws: The error, if no attempt is left.
    mutating func count(_ error: CurlewError) throws {
        failures += 1
        guard failures < settings.retries.attempts else { throw error }
    }

    /// Counts an attempt, and waits before the next one.
    /// - Throws: The error, if no attempt is left.
    mutating func wait(after error: CurlewError, isWorth: Bool) async throws {
        guard isWorth else { throw error }
        try count(error)
        let asked = error.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) }
        guard let wait = settings.retries.wait(after: failures, asked: asked),
            settings.retries.allows(wait, elapsed: start.duration(to: .now))
        else { throw error }
        if let scope = CallScope.current, wait >= scope.remaining { throw error }
        try await Task.sleep(for: wait)
    }
}
