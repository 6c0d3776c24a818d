internal import HTTPTypes

/// The attempts of a download: its requests, the resumes that it has left, and the waits before them.
struct DownloadAttempts: Sendable {
    private let session: HTTPSession
    /// The request of the whole, without what the attempts add.
    private let request: CurlewRequest
    private let options: DownloadTask.Options
    private let timekeeper: Timekeeper
    private let deadline: CallDeadline
    private var left: Int
    private var failures = 0

    init(_ session: HTTPSession, _ request: CurlewRequest, _ options: DownloadTask.Options) {
        self.session = session
        self.request = request
        self.options = options
        timekeeper = Timekeeper(options.clock)
        deadline = CallDeadline(request.options, timekeeper, start: timekeeper.elapsed())
        left = max(0, options.resumes)
    }

    // MARK: Requests

    /// Sends an attempt: for a range, or for the whole.
    func send(_ range: RangeRequest?) async throws -> CurlewResponse {
        var request = request
        range?.apply(to: &request.fields)
        // What comes must be the bytes of the file: ranges of a coded body cannot be put together.
        request.fields[.acceptEncoding] = "identity"
        request.options.decodesContent = false
        // What is kept as a file is not kept twice.
        request.options.cachePolicy = request.options.cachePolicy ?? .noStore
        request.options.kind = .download
        request.options.onResponse = nil
        let resumesByItself = range != nil || options.resumes > 0
        if resumesByItself, request.options.maximumAttempts == nil { request.options.maximumAttempts = 1 }
        try Task.checkCancellation()
        try deadline.limit(&request)
        return try await session.send(request)
    }

    /// The error for a status that brings no file, with the beginning of what the server says to it.
    func refusal(_ response: CurlewResponse) async -> CurlewError {
        await response.refusal("status \(response.status.code) where a file was wanted").adding(context(response))
    }

    func error(_ code: ErrorCode, _ message: String, _ response: CurlewResponse) -> CurlewError {
        CurlewError(code, message, context: context(response))
    }

    private func context(_ response: CurlewResponse) -> CurlewError.Context {
        var context = CurlewError.Context(
            method: request.method, uri: response.uri, stage: .receiving, response: response.head,
            showsQuery: request.options.showsQueries)
        context.history = response.history
        context.attempts = response.attempts
        return context
    }

    // MARK: Failures

    /// Counts a failure.
    /// - Returns: The wait before the next attempt; nil if the failure is final.
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
            guard HTTPResponse.Status.transient.contains(response.status) else { return nil }
            return RetryAfter.wait(response.headerFields) ?? .zero
        }
        return error.code.isTransient || error.code == .responseTruncated ? .zero : nil
    }
}
