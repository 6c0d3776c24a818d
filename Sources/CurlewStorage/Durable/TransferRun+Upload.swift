#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension TransferRun {
    private static let keptBody = 64 << 10

    func upload(
        _ request: DurableTransfer.Request, _ path: String, _ expected: FileSnapshot?, _ fields: HTTPFields,
        _ options: RequestOptions, _ dialect: ResumableUpload.Dialect?
    ) async throws -> TransferChange {
        guard TransferFolders(session.options.folders).contains(path) else {
            throw CurlewError(.invalidRequest, "the file of the upload lies outside of the folders of the session")
        }
        let current = try FileSnapshot(statusOf: path, for: .sending)
        guard current == expected else {
            throw CurlewError(.bodyLengthMismatch, "the file was changed since the upload was enqueued")
        }
        let bytes = CallBytes(total: current.size)
        state.withLock { $0.upload = bytes }
        if let dialect { return try await resume(request, path, fields, options, dialect, bytes) }
        if !request.mayBeRepeated {
            guard try await write(.sending) else { throw lost() }
        }
        var options = options
        if options.maximumAttempts == nil { options.maximumAttempts = 1 }
        let response = try await session.http.upload(
            .raw(request.url), .file(path), method: request.method, fields: fields, options: options
        ) { bytes.advance($0.sent.wire) }
        return try await outcome(of: response)
    }

    /// Continues or begins an upload, and stores its token in the queue.
    private func resume(
        _ request: DurableTransfer.Request, _ path: String, _ fields: HTTPFields, _ options: RequestOptions,
        _ dialect: ResumableUpload.Dialect, _ bytes: CallBytes
    ) async throws -> TransferChange {
        var upload = ResumableUpload.Options()
        let known = claim.transfer.token.flatMap { try? JSONDecoder().decode(UploadToken.self, from: Data($0)) }
        if let known, known.target == (try CurlewURI(request.url)) { upload.token = known }
        // Few retries: further ones are left to the queue, which can run other transfers meanwhile.
        upload.retries = Retry.Policy(
            attempts: 4, backoff: session.options.retries.backoff, totalTime: Timeouts.unlimited)
        upload.keepToken = { [self] token in
            let encoded = Array(try JSONEncoder().encode(token))
            let progress = TransferProgress(received: token.offset, total: token.length)
            do {
                guard try await write(.resumable(token: encoded, progress)) else { throw lost() }
            } catch let error as CurlewError where error.code == .queueFailed {
                // The error is ignored, because a later token may be stored.
            }
            state.withLock { state in
                state.uploadToken = .some(encoded)
                state.isSent = false
            }
        }
        upload.willCreate = { [self] in
            if !request.mayBeRepeated {
                guard try await write(.sending) else { throw lost() }
            }
            state.withLock { $0.isSent = true }
        }
        state.withLock { $0.uploadToken = .some(upload.token == nil ? nil : claim.transfer.token) }
        do {
            let response = try await session.http.upload(
                file: path, to: .raw(request.url), resumable: dialect, method: request.method, fields: fields,
                upload: upload, options: options
            ) { bytes.advance($0.sent) }
            return try await outcome(of: response)
        } catch let error as CurlewError {
            if let token = error.uploadToken, let encoded = try? JSONEncoder().encode(token) {
                state.withLock { $0.uploadToken = .some(Array(encoded)) }
            } else {
                state.withLock { $0.uploadToken = .some(nil) }
            }
            throw error
        }
    }

    private func outcome(of response: CurlewResponse) async throws -> TransferChange {
        // The status decides the outcome; an error in the body does not matter.
        var body: [UInt8] = []
        do {
            for try await chunk in response.body {
                body += chunk.prefix(Self.keptBody - body.count)
                if body.count >= Self.keptBody { break }
            }
        } catch {}
        guard response.status.kind == .successful else {
            throw UploadRefusal.error(response)
        }
        return .finished(StoredResult(status: response.status.code, fields: response.fields, body: body).encoded)
    }
}

/// The refusal of an upload.
private enum UploadRefusal {
    static func error(_ response: CurlewResponse) -> CurlewError {
        CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }
}

/// A counter of the sent bytes of an upload.
final class CallBytes: Sendable {
    let total: Int64
    private let count = Guarded<Int64>(0)

    init(total: Int64) { self.total = total }

    var sent: Int64 { count.withLock { $0 } }

    func advance(_ newCount: Int64) { count.withLock { $0 = newCount } }
}
#endif
