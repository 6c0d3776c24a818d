internal import HTTPTypes

/// Sends the requests of an upload, and counts what goes.
struct UploadSender: Sendable {
    let session: HTTPSession
    let journal: UploadJournal
    let fields: HTTPFields
    let options: RequestOptions

    init(session: HTTPSession, journal: UploadJournal, fields: HTTPFields, options: RequestOptions) {
        self.session = session
        self.journal = journal
        self.fields = fields
        var options = options
        // What failed is asked about before it is sent again.
        options.maximumAttempts = options.maximumAttempts ?? 1
        options.kind = .upload
        self.options = options
    }

    /// True if a request may be sent again after it may have reached the server.
    func mayBeRepeated(_ method: HTTPRequest.Method) -> Bool { options.isIdempotent ?? method.isIdempotent }

    /// Bytes of a part that go with a request.
    struct Bytes: Sendable {
        let part: Int
        let offset: Int64
        let count: Int64
    }

    func send(
        _ step: UploadStep, to uri: CurlewURI, _ bytes: Bytes? = nil,
        interim: (@Sendable (HTTPResponse) async -> Void)? = nil
    ) async throws -> CurlewResponse {
        var options = options
        let listening = Guarded<[Task<Void, Never>]>([])
        let last = Guarded<TaskActor?>(nil)
        let before = options.onTask
        options.onTask = { task in
            before?(task)
            if let interim {
                let listener = Task { for await head in await task.interimResponses { await interim(head) } }
                listening.withLock { $0.append(listener) }
            }
            last.withLock { $0 = task }
            guard let bytes else { return }
            let follower = Task {
                for await step in task.progress {
                    journal.advance(bytes.part, to: bytes.offset + min(step.sent.wire, bytes.count))
                }
            }
            listening.withLock { $0.append(follower) }
        }
        var fields = fields.adding(step.fields)
        if !uri.hasSameOrigin(as: journal.target) { fields = fields.withoutSecrets.adding(step.fields) }
        let body: CurlewRequest.Body =
            if let bytes {
                try journal.body(bytes.part, from: bytes.offset, count: bytes.count)
            } else {
                // What takes a body, and gets none, is told its length.
                step.method == .post || step.method == .put ? .bytes(step.content) : .none
            }
        let result: Result<CurlewResponse, any Error>
        do {
            result = .success(
                try await session.send(
                    step.method, .uri(uri), RequestContent(body: body), fields: fields, timeout: nil, options: options))
        } catch {
            result = .failure(error)
        }
        // The task may hold what holds these.
        let (tasks, task) = (listening.take(), last.take())
        // Where the upload is may have been said just before it broke off.
        if case .failure = result {
            for task in tasks { await task.value }
        }
        if let bytes, let task {
            journal.advance(bytes.part, to: bytes.offset + min(await task.currentProgress.sent.wire, bytes.count))
        }
        return try result.get()
    }

    /// The error of an answer that refuses.
    func refusal(_ response: CurlewResponse) async -> CurlewError {
        await response.discard()
        return CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }
}

extension Guarded where Value: ExpressibleByArrayLiteral {
    fileprivate func take() -> Value {
        withLock { value in
            defer { value = [] }
            return value
        }
    }
}

extension Guarded where Value: ExpressibleByNilLiteral {
    fileprivate func take() -> Value {
        withLock { value in
            defer { value = nil }
            return value
        }
    }
}

/// The tries of an upload, or a part of it, and the waits between them.
struct UploadPatience: Sendable {
    private let settings: ResumableUpload.Options
    /// Tries in a row by which nothing more has arrived.
    private var failures = 0
    private var restarts = 0

    init(_ settings: ResumableUpload.Options) { self.settings = settings }

    mutating func succeed() { failures = 0 }

    /// - Throws: The error, if an upload that was forgotten may not begin anew.
    mutating func restart(after error: CurlewError) throws {
        guard restarts < settings.restarts else { throw error }
        restarts += 1
        failures = 0
    }

    /// Waits before the next try.
    /// - Throws: The error, if there is none.
    mutating func wait(after error: CurlewError, isWorth: Bool) async throws {
        failures += 1
        guard isWorth, failures < settings.attempts else { throw error }
        let asked = error.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) } ?? .zero
        guard asked <= settings.retryAfterLimit else { throw error }
        try await Task.sleep(for: max(asked, settings.backoff.wait(after: failures)))
    }
}
