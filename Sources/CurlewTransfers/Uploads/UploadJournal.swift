internal import FoundationEssentials

/// The state of an upload: its token and its offsets. It reports the progress.
final class UploadJournal: Sendable {
    private struct State {
        var token: UploadToken
        /// The upper bound of the server's bytes, for each part.
        var most: [Int64]
        /// True for each part of which this process has sent bytes.
        var gone: [Bool]
        /// The reported progress of each part, which decreases only after a restart.
        var told: [(confirmed: Int64, sent: Int64)]
        var restarts = 0
        /// The progress that is not delivered.
        var reports: [ResumableUpload.Progress] = []
        /// True while a task delivers the progress.
        var isReporting = false
        /// The number of bytes that all requests together have sent.
        var spent: Int64 = 0
        /// The newest write of the token, which waits for the previous one.
        var writing: Task<Void, any Error>?
    }

    let path: String
    let target: CurlewURI
    private let identity: FileSnapshot
    private let keepsToken: Bool
    private let keepToken: (@Sendable (UploadToken) async throws -> Void)?
    private let tokenFile: String?
    private let progress: (@Sendable (ResumableUpload.Progress) -> Void)?
    private let state: Guarded<State>

    init(
        path: String, target: CurlewURI, settings: ResumableUpload.Options,
        progress: (@Sendable (ResumableUpload.Progress) -> Void)?
    ) throws {
        self.path = path
        self.target = target
        keepToken = settings.keepToken
        tokenFile = settings.tokenFile
        keepsToken = keepToken != nil || tokenFile != nil
        self.progress = progress
        let identity = try CurlewError.naming(path) { try FileSnapshot(path: path) }
        self.identity = identity
        let token: UploadToken
        if let known = settings.token {
            guard known.identity == identity else {
                throw CurlewError(.bodyLengthMismatch, "the file is not the one that the upload was begun with").naming(
                    path)
            }
            let places = known.parts.compactMap(\.uri)
            guard known.target == target,
                settings.allowsOtherOrigins || places.allSatisfy({ $0.hasSameOrigin(as: target) })
            else { throw CurlewError(.invalidResumeToken, "the token is about an upload to another place") }
            token = known
        } else {
            token = try UploadToken(
                target: target, length: identity.size, dialect: .undecided, identity: identity,
                parts: UploadPart.parts(of: identity.size, count: 1))
        }
        // The server may have more bytes than the token lists.
        state = Guarded(
            State(
                token: token, most: token.parts.map { $0.uri == nil ? $0.offset : $0.length },
                gone: token.parts.map { _ in false }, told: token.parts.map { ($0.offset, $0.offset) }))
    }

    var length: Int64 { identity.size }
    /// The token that resumes the upload; nil if the server has no bytes of it.
    var token: UploadToken? { state.withLock { $0.token.isOfUse ? $0.token : nil } }
    var dialect: UploadDialectName { state.withLock { $0.token.dialect } }
    var partCount: Int { state.withLock { $0.token.parts.count } }
    func part(_ index: Int) -> UploadPart { state.withLock { $0.token.parts[index] } }
    /// The upper bound of the server's bytes of a part.
    func most(_ index: Int) -> Int64 { state.withLock { $0.most[index] } }

    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyLengthMismatch`` for a file that has changed.
    func verifyFile() throws {
        guard try FileSnapshot(path: path) == identity else {
            throw CurlewError(.bodyLengthMismatch, "the file has changed since the upload began")
        }
    }

    /// A body of bytes of a part. It fails if the file has changed.
    func body(_ index: Int, from offset: Int64, count: Int64) throws -> CurlewRequest.Body {
        let start = part(index).start + offset
        let file = try WatchedFile(path: path, range: start..<start + count, unchangedSince: identity)
        return .watched(file)
    }

    // MARK: Sending limit

    /// The greatest number of bytes that the upload of a file sends. A server that discards bytes repeatedly would
    /// otherwise receive the file forever.
    static func sendingLimit(length: Int64) -> Int64 {
        let (product, isTooLarge) = length.multipliedReportingOverflow(by: 8)
        return isTooLarge ? .max : product &+ min(64 << 20, .max - product)
    }

    /// Counts the bytes of a request.
    func spend(_ count: Int64) { state.withLock { $0.spent += min(max(count, 0), .max - $0.spent) } }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` if the bytes of the file were sent too often.
    func verifySending() throws {
        let (spent, offset) = state.withLock { ($0.spent, $0.token.offset) }
        guard spent > Self.sendingLimit(length: length) else { return }
        throw CurlewError(
            .invalidResponse,
            "\(spent) bytes were sent for a file of \(length) bytes, and the server has \(offset) of them")
    }

    // MARK: Changes

    /// Sets the parts of a new upload.
    func begin(_ dialect: UploadDialectName, _ parts: [UploadPart]) throws {
        try state.withLock { state in
            state.token = try UploadToken(
                target: target, length: length, dialect: dialect, identity: identity, parts: parts)
            state.most = parts.map { _ in 0 }
            state.gone = parts.map { _ in false }
            state.told = parts.map { _ in (0, 0) }
        }
    }

    func speak(_ dialect: UploadDialectName) { state.withLock { $0.token.dialect = dialect } }

    func expire(_ moment: HTTPDate) {
        state.withLock { $0.token.expires = Date(timeIntervalSince1970: Double(moment.secondsSince1970)) }
    }

    /// Changes the state of a part, and keeps the token.
    func change(_ index: Int, _ change: (inout UploadPart) -> Void) async throws {
        let writing = state.withLock { state -> Task<Void, any Error>? in
            change(&state.token.parts[index])
            guard keepsToken, state.token.isOfUse else { return nil }
            let (token, earlier) = (state.token, state.writing)
            let task = Task {
                _ = await earlier?.result
                if let tokenFile = self.tokenFile { try await token.write(to: tokenFile) }
                do { try await self.keepToken?(token) } catch let error as CurlewError { throw error } catch {
                    throw CurlewError(.resumeTokenFileFailed, "the token could not be kept", underlying: error)
                }
            }
            state.writing = task
            return task
        }
        report()
        try await writing?.value
    }

    /// Records the server's offset of a part.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` for an offset beyond the sent bytes.
    func confirm(_ index: Int, _ offset: Int64, _ digest: ContentDigest?) async throws {
        try state.withLock { state in
            let (most, length) = (state.most[index], state.token.parts[index].length)
            guard (0...min(most, length)).contains(offset) else {
                throw CurlewError(.invalidResponse, "the server has \(offset) bytes, and \(most) were sent")
            }
            state.most[index] = offset
        }
        try await change(index) { part in
            part.offset = offset
            part.digest = digest
        }
    }

    /// Records that a part is sent again from an offset: bytes beyond it have not arrived.
    func rewind(_ index: Int, to offset: Int64) {
        state.withLock { state in
            state.most[index] = offset
            state.gone[index] = true
        }
    }

    /// Records the sent bytes of a part.
    func advance(_ index: Int, to sent: Int64) {
        state.withLock { state in
            state.most[index] = max(state.most[index], min(sent, state.token.parts[index].length))
        }
        report()
    }

    /// Resets a part that the server has forgotten.
    func restart(_ index: Int) {
        state.withLock { state in
            let part = state.token.parts[index]
            state.token.parts[index] = UploadPart(start: part.start, length: part.length)
            state.most[index] = 0
            state.told[index] = (0, 0)
            state.restarts += 1
        }
        report()
    }

    /// Reports the progress. Reports of several parts come one at a time, in order: the task that is reporting also
    /// delivers the reports that others add meanwhile.
    private func report() {
        guard let progress else { return }
        let begins = state.withLock { state in
            for (index, part) in state.token.parts.enumerated() {
                let told = state.told[index]
                let sent = state.gone[index] ? state.most[index] : part.offset
                state.told[index] = (max(told.confirmed, part.offset), max(told.sent, sent))
            }
            state.reports.append(
                ResumableUpload.Progress(
                    confirmed: state.told.reduce(0) { $0 + $1.confirmed }, sent: state.told.reduce(0) { $0 + $1.sent },
                    total: state.token.length, restarts: state.restarts))
            defer { state.isReporting = true }
            return !state.isReporting
        }
        guard begins else { return }
        while let next = nextReport() { progress(next) }
    }

    private func nextReport() -> ResumableUpload.Progress? {
        state.withLock { state in
            state.isReporting = !state.reports.isEmpty
            return state.reports.isEmpty ? nil : state.reports.removeFirst()
        }
    }

    // MARK: Completion

    /// Runs the upload, adds the token to an error, and removes the token's file after success.
    func ending<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        // The last write of the token must end before the function returns.
        _ = await state.withLock { $0.writing }?.result
        switch result {
        case .success(let value):
            if let tokenFile { await TokenFile.remove(tokenFile) }
            return value
        case .failure(let error):
            var failure = CurlewError(wrapping: error)
            if failure.code.concernsFile { failure = failure.naming(path) }
            throw failure.adding(CurlewError.Context(uploadToken: token))
        }
    }
}
