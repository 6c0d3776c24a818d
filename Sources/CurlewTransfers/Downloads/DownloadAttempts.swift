internal import HTTPTypes

/// The attempts of a download: its requests, the number of remaining attempts, and the waits before them.
struct DownloadAttempts: Sendable {
    private let session: HTTPSession
    /// The request of the complete file, without the fields of the attempts.
    private let request: CurlewRequest
    private let options: DownloadTask.Options
    private let timekeeper: Timekeeper
    private let deadline: CallDeadline
    private let start: Duration
    private var failures = 0

    init(_ session: HTTPSession, _ request: CurlewRequest, _ options: DownloadTask.Options) {
        self.session = session
        self.request = request
        self.options = options
        timekeeper = Timekeeper(options.clock)
        deadline = CallDeadline(request.options, timekeeper, start: timekeeper.elapsed())
        start = timekeeper.elapsed()
    }

    // MARK: Requests

    /// Sends an attempt: for a range, or for the complete file.
    func send(_ range: RangeRequest?) async throws -> CurlewResponse {
        var request = request
        range?.apply(to: &request.fields)
        // The response must contain the bytes of the file, because ranges of a coded body cannot be joined.
        request.fields[.acceptEncoding] = "identity"
        request.options.decodesContent = false
        // The download stores the file itself, so the cache does not store it by default.
        request.options.isNotStored = true
        request.options.kind = .download
        request.options.onResponse = nil
        let resumesByItself = range != nil || options.retries.attempts > 1
        if resumesByItself, request.options.maximumAttempts == nil { request.options.maximumAttempts = 1 }
        try Task.checkCancellation()
        try deadline.limit(&request)
        return try await session.send(request)
    }

    /// The error for a status without a file, with the beginning of the response body.
    func refusal(_ response: CurlewResponse) async -> CurlewError {
        await response.refusal("status \(response.status.code) where a file was wanted").adding(context(response))
    }

    func error(_ code: ErrorCode, _ message: String, _ response: CurlewResponse) -> CurlewError {
        CurlewError(code, message, context: context(response))
    }

    private func context(_ response: CurlewResponse) -> CurlewError.Context {
        CurlewError.Context(
            method: request.method, uri: response.uri, stage: .receiving, response: response.head,
            attempts: response.attempts, history: response.history, showsQuery: request.options.showsQueries)
    }

    // MARK: Failures

    /// Counts a failure.
    /// - Returns: The wait before the next attempt; nil if the failure is final.
    mutating func wait(after error: CurlewError) -> Duration? {
        guard failures + 1 < options.retries.attempts, let asked = Self.wait(askedBy: error),
            let wait = options.retries.wait(after: failures + 1, asked: asked),
            options.retries.allows(wait, elapsed: timekeeper.elapsed() - start)
        else { return nil }
        if let remaining = deadline.remaining, wait >= remaining { return nil }
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

    /// The wait that a failure requests, usually zero; nil for a permanent failure.
    private static func wait(askedBy error: CurlewError) -> Duration? {
        if error.code == .unacceptableStatus, let response = error.response {
            guard HTTPResponse.Status.transient.contains(response.status) else { return nil }
            return RetryAfter.wait(response.headerFields) ?? .zero
        }
        return error.code.isTransient || error.code == .responseTruncated ? .zero : nil
    }
}
