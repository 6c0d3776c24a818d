internal import HTTPTypes

/// Sends the requests of an upload, and counts the sent bytes.
struct UploadSender: Sendable {
    let session: HTTPSession
    let journal: UploadJournal
    let fields: HTTPFields
    let options: RequestOptions

    init(
        session: HTTPSession, journal: UploadJournal, fields: HTTPFields, options: RequestOptions,
        allowsOtherOrigins: Bool
    ) {
        self.session = session
        self.journal = journal
        self.fields = fields
        var options = options
        // After a failure the offset is queried before bytes are sent again, so there are no blind retries.
        options.maximumAttempts = options.maximumAttempts ?? 1
        options.kind = .upload
        // The requests of an upload differ, but a server would answer all requests with one key like the first.
        options.idempotencyKey = nil
        // The bytes of the file are sent to no other origin, not even by a redirect.
        options.staysWithOrigin = !allowsOtherOrigins
        self.options = options
    }

    /// True if a request may be sent again after it may have reached the server.
    func mayBeRepeated(_ method: HTTPRequest.Method) -> Bool {
        options.isIdempotent ?? method.isIdempotent
    }

    /// The tasks of a request, and the tasks that watch them.
    private struct Watching {
        var tasks: [TaskActor] = []
        var listeners: [Task<Void, Never>] = []
        var followers: [Task<Void, Never>] = []
    }

    /// The bytes of a part in a request.
    struct Bytes: Sendable {
        let part: Int
        let offset: Int64
        let count: Int64
    }

    /// - Parameter interim: Receives each interim response, and the URI of the request that it answers. After a
    ///   redirect this is the redirect's target.
    func send(
        _ step: UploadStep, to uri: CurlewURI, _ bytes: Bytes? = nil,
        interim: (@Sendable (HTTPResponse, CurlewURI) async -> Void)? = nil
    ) async throws -> CurlewResponse {
        var options = options
        let watching = Guarded(Watching())
        let before = options.onTask
        options.onTask = { task in
            before?(task)
            let listener = interim.map { interim in
                Task { for await head in await task.interimResponses { await interim(head, task.request.uri) } }
            }
            let follower = bytes.map { bytes in
                Task {
                    for await step in task.progress {
                        journal.advance(bytes.part, to: bytes.offset + min(step.sent.wire, bytes.count))
                    }
                }
            }
            watching.withLock { watching in
                watching.tasks.append(task)
                watching.listeners += [listener].compactMap(\.self)
                watching.followers += [follower].compactMap(\.self)
            }
        }
        var fields = fields.adding(step.fields)
        if !uri.hasSameOrigin(as: journal.target) {
            fields = self.fields.withoutSecrets(options.secretFields).adding(step.fields)
        }
        if bytes != nil { try journal.verifySending() }
        let body: CurlewRequest.Body =
            if let bytes {
                try journal.body(bytes.part, from: bytes.offset, count: bytes.count)
            } else if step.method == .post {
                // A POST without bytes sends Content-Length: 0.
                .bytes(step.content)
            } else {
                .none
            }
        if let bytes { journal.rewind(bytes.part, to: bytes.offset) }
        let result: Result<CurlewResponse, any Error>
        do {
            result = .success(
                try await session.call(
                    step.method, .uri(uri), CallContent(.body(body)), CallSettings(fields, nil, nil, options)))
        } catch {
            result = .failure(error)
        }
        // The task holds the options, and the options hold this box. Emptying the box breaks the cycle.
        let watched = watching.withLock { watching in
            defer { watching = Watching() }
            return watching
        }
        // A late step of progress must not follow the end of the request.
        for follower in watched.followers { follower.cancel() }
        for follower in watched.followers { await follower.value }
        if let bytes {
            for task in watched.tasks {
                let sent = await task.currentProgress.sent.wire
                journal.spend(sent)
                if task === watched.tasks.last {
                    journal.advance(bytes.part, to: bytes.offset + min(sent, bytes.count))
                }
            }
        }
        if case .success(let response) = result {
            for listener in watched.listeners { listener.cancel() }
            for listener in watched.listeners { await listener.value }
            if let interim { for head in response.interim { await interim(head, response.uri) } }
        } else {
            // An interim response with the location may have arrived just before the failure.
            for listener in watched.listeners { await listener.value }
        }
        return try result.get()
    }

    /// The error of a response that refuses the request.
    func refusal(_ response: CurlewResponse) async -> CurlewError {
        await response.discard()
        return CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }
}
