internal import HTTPTypes

/// One resumable upload, from its creation or its token to its end.
final class UploadRun: Sendable {
    /// What changes while it runs. One task changes it, and the callbacks of its requests.
    private struct State {
        var token: UploadToken?
        var limits = UploadLimits()
        var restarts = 0
        /// Tries in a row by which nothing more has arrived.
        var failures = 0
        /// The furthest offset that the server has confirmed.
        var best: Int64 = 0
        /// The bytes that the server may have at most.
        var sent: Int64 = 0
    }

    private let session: HTTPSession
    private let path: String
    private let target: CurlewURI
    private let method: HTTPRequest.Method
    private let fields: HTTPFields
    private let settings: ResumableUpload.Options
    private let options: RequestOptions
    private let progress: (@Sendable (ResumableUpload.Progress) -> Void)?
    private let identity: FileSnapshot
    private let state: Guarded<State>

    private var length: Int64 { identity.size }

    init(
        session: HTTPSession, path: String, target: CurlewURI, method: HTTPRequest.Method, fields: HTTPFields,
        settings: ResumableUpload.Options, options: RequestOptions,
        progress: (@Sendable (ResumableUpload.Progress) -> Void)?
    ) throws {
        self.session = session
        self.path = path
        self.target = target
        self.method = method
        self.fields = fields
        self.settings = settings
        var options = options
        // What failed is asked about before it is sent again.
        options.maximumAttempts = options.maximumAttempts ?? 1
        self.options = options
        self.progress = progress
        identity = try FileSnapshot(path: path)
        if let token = settings.token, token.identity != identity {
            throw CurlewError(.bodyLengthMismatch, "the file is not the one that the upload was begun with")
        }
        let offset = settings.token?.offset ?? 0
        // More may have arrived than the token says.
        state = Guarded(State(token: settings.token, best: offset, sent: settings.token == nil ? 0 : identity.size))
    }

    static func dialect(_ name: UploadDialectName) -> any UploadDialect {
        switch name {
        case .draft(let interop): DraftDialect(interop: interop)
        case .tus: TusDialect()
        }
    }

    // MARK: The way

    func run(_ choice: ResumableUpload.Dialect) async throws -> CurlewResponse {
        do {
            return try await go(choice)
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(uploadToken: state.withLock { $0.token }))
        } catch is CancellationError {
            throw CurlewError(.cancelled, "the upload was cancelled").adding(
                CurlewError.Context(uploadToken: state.withLock { $0.token }))
        }
    }

    private func go(_ choice: ResumableUpload.Dialect) async throws -> CurlewResponse {
        var dialect = try await dialect(for: choice)
        // What the server has; nil where it has to be asked.
        var known: Int64?
        while true {
            do {
                try Task.checkCancellation()
                try verifyFile()
                let step: Step
                if let token = state.withLock({ $0.token }) {
                    if let offset = known {
                        step = try await append(from: offset, to: token, dialect)
                    } else {
                        step = try await inquire(token, dialect)
                    }
                } else {
                    step = try await create(dialect)
                }
                switch step {
                case .finished(let response): return response
                case .at(let offset): known = offset
                case .again(let other): dialect = other
                }
            } catch let error as CurlewError {
                known = nil
                try await recover(from: error)
            }
        }
    }

    private enum Step {
        case finished(CurlewResponse)
        /// The server has so much; nil if it has to be asked.
        case at(Int64?)
        /// The same once more, in another dialect.
        case again(any UploadDialect)
    }

    private func dialect(for choice: ResumableUpload.Dialect) async throws -> any UploadDialect {
        if let token = settings.token { return Self.dialect(token.dialect) }
        switch choice {
        case .ietf: return DraftDialect(interop: 6)
        case .tus: return TusDialect()
        case .automatic: break
        }
        let response = try await send(
            UploadStep(method: .options, fields: HTTPFields(), carriesBytes: false), to: target, .none)
        await response.discard()
        let versions = response.fields[values: HTTPField.Name("Tus-Version")!].joined(separator: ",")
        if versions.split(separator: ",").contains(where: { $0.filter { $0 != " " } == "1.0.0" }) {
            return TusDialect()
        }
        return DraftDialect(interop: interop(response.head) ?? 6)
    }

    /// The interop version that a server says it speaks, if it is known here.
    private func interop(_ head: HTTPResponse) -> Int? {
        head.headerFields[.uploadDraftInteropVersion].flatMap { Int($0) }.flatMap {
            UploadDialectName.draftVersions.contains($0) ? $0 : nil
        }
    }

    // MARK: Steps

    private func create(_ dialect: any UploadDialect) async throws -> Step {
        let limits = state.withLock { $0.limits }
        guard length <= limits.maximumSize ?? .max, length >= limits.minimumSize ?? 0 else {
            throw CurlewError(.invalidRequest, "the file has \(length) bytes, which the server does not take")
        }
        let step = dialect.creation(method: method, length: length)
        let response = try await send(
            step, to: target, step.carriesBytes ? .file(path) : .none, from: 0, interim: { [self] head in
                if let location = dialect.announcedLocation(in: head) { try? await adopt(location, target, dialect) }
            })
        state.withLock { $0.limits.formUnion(dialect.limits(in: response.head)) }
        switch try dialect.outcome(of: response.head, isCreation: true) {
        case .complete: return try await concluded(response, sentFrom: 0, count: length)
        case .unknown:
            guard step.carriesBytes else {
                await response.discard()
                throw CurlewError(.unsupported, "the server does not know the protocol of resumable uploads")
            }
            return try await concluded(response, sentFrom: 0, count: length)
        case .refused:
            if case .draft(let asked) = dialect.name, let spoken = interop(response.head), spoken != asked {
                await response.discard()
                return .again(DraftDialect(interop: spoken))
            }
            throw await refusal(response)
        case .incomplete(let location, let offset):
            await response.discard()
            if let location { try await adopt(location, response.uri, dialect) }
            guard state.withLock({ $0.token }) != nil else {
                throw CurlewError(.invalidResponse, "the upload was created, and the server does not say where")
            }
            return .at(try await confirmed(offset))
        }
    }

    private func inquire(_ token: UploadToken, _ dialect: any UploadDialect) async throws -> Step {
        let response = try await send(dialect.inquiry(), to: token.uri, .none)
        guard response.status.kind == .successful else { throw await refusal(response) }
        state.withLock { $0.limits.formUnion(dialect.limits(in: response.head)) }
        guard let answer = try dialect.state(in: response.head) else {
            await response.discard()
            throw CurlewError(.invalidResponse, "the server does not say how much it has")
        }
        if answer.isComplete {
            guard answer.offset == length else {
                await response.discard()
                throw CurlewError(.invalidResponse, "the server takes \(answer.offset) of \(length) bytes for all")
            }
            _ = try await confirmed(length)
            return .finished(response)
        }
        await response.discard()
        return .at(try await confirmed(answer.offset))
    }

    private func append(
        from offset: Int64, to token: UploadToken, _ dialect: any UploadDialect
    ) async throws -> Step {
        let left = length - offset
        let count = min(left, state.withLock { $0.limits.maximumAppend }.map { max(1, $0) } ?? left)
        let isLast = count == left
        let step = dialect.append(from: offset, isLast: isLast, length: length)
        // To the end of the file: the engine looks whether it is still the same before the last bytes go.
        let body = CurlewRequest.Body.file(path, offset: offset, length: isLast ? nil : count)
        let response = try await send(step, to: token.uri, body, from: offset)
        switch try dialect.outcome(of: response.head, isCreation: false) {
        case .complete where isLast: return try await concluded(response, sentFrom: offset, count: count)
        case .complete:
            await response.discard()
            throw CurlewError(.invalidResponse, "the server takes a part for all")
        case .incomplete(_, let reached?) where reached == length && dialect.name == .tus:
            return try await concluded(response, sentFrom: offset, count: count)
        case .incomplete(_, let reached):
            await response.discard()
            return .at(try await confirmed(reached))
        case .unknown, .refused: throw await refusal(response)
        }
    }

    /// The end, if all was sent: a server may answer before it has read all.
    private func concluded(_ response: CurlewResponse, sentFrom offset: Int64, count: Int64) async throws -> Step {
        if state.withLock({ $0.sent }) >= offset + count {
            try verifyFile()
            if state.withLock({ $0.token }) != nil { _ = try await confirmed(length) }
            return .finished(response)
        }
        await response.discard()
        guard state.withLock({ $0.token }) != nil else {
            throw CurlewError(.invalidResponse, "the server has answered before it had all")
        }
        return .at(nil)
    }

    // MARK: What is known

    private func verifyFile() throws {
        guard try FileSnapshot(path: path) == identity else {
            throw CurlewError(.bodyLengthMismatch, "the file has changed since the upload began")
        }
    }

    /// Takes note of where the upload is.
    private func adopt(_ location: String, _ base: CurlewURI, _ dialect: any UploadDialect) async throws {
        let uri: CurlewURI
        do { uri = try base.resolving(location) } catch {
            throw CurlewError(.invalidResponse, "the place of the upload is no URL", underlying: error)
        }
        guard settings.allowsOtherOrigins || uri.hasSameOrigin(as: target) else {
            throw CurlewError(.invalidResponse, "the server sends the upload to another origin, \(uri.origin)")
        }
        let token = try UploadToken(
            uri: uri, target: target, offset: 0, length: length, dialect: dialect.name, identity: identity)
        let isNew = state.withLock { state in
            guard state.token?.uri != uri else { return false }
            state.token = token
            return true
        }
        if isNew { try await settings.keepToken?(token) }
    }

    /// Takes note of what the server has.
    private func confirmed(_ offset: Int64?) async throws -> Int64? {
        guard let offset else { return nil }
        let (token, sent) = state.withLock { ($0.token, $0.sent) }
        guard let token, offset <= length, offset <= sent else {
            throw CurlewError(.invalidResponse, "the server has \(offset) bytes, and \(sent) were sent")
        }
        let newest = try token.at(offset)
        state.withLock { state in
            state.token = newest
            state.sent = offset
            if offset > state.best {
                state.best = offset
                state.failures = 0
            }
        }
        report()
        try await settings.keepToken?(newest)
        return offset
    }

    private func report() {
        guard let progress else { return }
        let state = state.withLock { $0 }
        progress(
            .init(
                confirmed: state.token?.offset ?? 0, sent: state.sent, total: length, restarts: state.restarts))
    }

    // MARK: Requests

    private func send(
        _ step: UploadStep, to uri: CurlewURI, _ body: CurlewRequest.Body, from offset: Int64? = nil,
        interim: (@Sendable (HTTPResponse) async -> Void)? = nil
    ) async throws -> CurlewResponse {
        var options = options
        options.kind = .upload
        let listening = Guarded<[Task<Void, Never>]>([])
        let last = Guarded<TaskActor?>(nil)
        let before = options.onTask
        options.onTask = { [self] task in
            before?(task)
            if let interim {
                let listener = Task { for await head in await task.interimResponses { await interim(head) } }
                listening.withLock { $0.append(listener) }
            }
            last.withLock { $0 = task }
            guard let offset else { return }
            let follower = Task { for await step in task.progress { advance(to: offset + step.sent.wire) } }
            listening.withLock { $0.append(follower) }
        }
        var fields = fields.adding(step.fields)
        if !uri.hasSameOrigin(as: target) {
            for name in SecretFields.names { fields[name] = nil }
        }
        let result: Result<CurlewResponse, any Error>
        do {
            result = .success(
                try await session.send(
                    step.method, .uri(uri), RequestContent(body: body), fields: fields, timeout: nil, options: options))
        } catch {
            result = .failure(error)
        }
        // Where the upload is may have been said just before it broke off.
        if case .failure = result {
            for task in listening.withLock({ $0 }) { await task.value }
        }
        if let offset, let task = last.withLock({ $0 }) { advance(to: offset + (await task.currentProgress.sent.wire)) }
        return try result.get()
    }

    private func advance(to sent: Int64) {
        state.withLock { $0.sent = max($0.sent, min(sent, identity.size)) }
        report()
    }

    private func refusal(_ response: CurlewResponse) async -> CurlewError {
        await response.discard()
        return CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }

    // MARK: Failures

    /// Waits before the next try.
    /// - Throws: The error, if there is none.
    private func recover(from error: CurlewError) async throws {
        let status = error.response?.status.code
        let hasToken = state.withLock { $0.token } != nil
        if hasToken, status == 404 || status == 410 {
            // The server has forgotten it, or ended it.
            guard state.withLock({ $0.restarts }) < settings.restarts else { throw error }
            state.withLock { state in
                state.token = nil
                state.restarts += 1
                state.best = 0
                state.sent = 0
            }
            report()
            return
        }
        let isWorth =
            hasToken
            ? error.isWorthRepeating || [409, 412, 423, 460].contains(status)
                || (error.code == .unacceptableStatus && (status ?? 0) >= 500)
            : error.isWorthRepeating && mayBeCreatedAgain(error)
        let failures = state.withLock { state in
            state.failures += 1
            return state.failures
        }
        guard isWorth, failures < settings.attempts else { throw error }
        let asked = error.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) } ?? .zero
        guard asked <= settings.retryAfterLimit else { throw error }
        try await Task.sleep(for: max(asked, settings.backoff.wait(after: failures)))
    }

    /// A creation that may have been taken for a plain upload is not repeated, unless that does no harm.
    private func mayBeCreatedAgain(_ error: CurlewError) -> Bool {
        if error.stage == .preparing || error.stage == .connecting { return true }
        if options.isIdempotent ?? method.isIdempotent { return true }
        return error.response != nil
    }
}
