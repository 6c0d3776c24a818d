internal import HTTPTypes

/// How often a download still goes on by itself, and how long it waits before.
struct DownloadAttempts: Sendable {
    private let options: DownloadOptions
    private let timekeeper: Timekeeper
    /// What is left of the call's time.
    let deadline: CallDeadline
    private var left: Int
    private var failures = 0

    init(_ options: DownloadOptions, _ requestOptions: RequestOptions) {
        self.options = options
        timekeeper = Timekeeper(options.clock)
        deadline = CallDeadline(requestOptions, timekeeper, start: timekeeper.elapsed())
        left = max(0, options.resumes)
    }

    /// Counts a failure.
    /// - Returns: The wait before going on; nil if the failure is final.
    mutating func wait(after error: CurlewError) -> Duration? {
        guard left > 0, let asked = Self.wait(askedBy: error), asked <= options.retryAfterLimit else { return nil }
        let wait = asked + options.backoff.wait(after: failures + 1)
        if let remaining = deadline.remaining, wait >= remaining { return nil }
        left -= 1
        failures += 1
        return wait
    }

    func sleep(for wait: Duration) async throws {
        do {
            try await timekeeper.sleep(for: wait)
            try Task.checkCancellation()
        } catch {
            throw CurlewError(.cancelled, "the task was cancelled before the download went on")
        }
    }

    /// The wait that a failure asks for, mostly none; nil if it does not pass.
    private static func wait(askedBy error: CurlewError) -> Duration? {
        if error.code == .unacceptableStatus, let response = error.response {
            guard passing.contains(response.status) else { return nil }
            return RetryAfter.wait(response.headerFields) ?? .zero
        }
        return error.code.isTransient || error.code == .responseTruncated ? .zero : nil
    }

    private static let passing: Set<HTTPResponse.Status> = [
        .requestTimeout, .tooManyRequests, .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]
}
