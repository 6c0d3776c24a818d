internal import Curlew
internal import HTTPTypes
internal import Synchronization

/// The record of a download: the tasks of its requests, and the bytes of the file.
private final class DownloadRecord: Sendable {
    private let tasks = Mutex<[TaskActor]>([])
    private let steps = Mutex<[JSONValue]>([])

    func add(_ task: TaskActor) { tasks.withLock { $0.append(task) } }

    /// Releases the tasks: each has its options, and with them the closure that adds the task here.
    func forgetTasks() { tasks.withLock { $0 = [] } }

    func add(_ progress: TaskProgress) {
        let counts = progress.received
        let pair = JSONValue.array([.integer(counts.wire), counts.total.map { .integer($0) } ?? .null])
        steps.withLock { if $0.last != pair { $0.append(pair) } }
    }

    /// The members of the answer. The progress steps are between the first and the last byte, as they were observed.
    var members: [JSONValue.Member] {
        get async {
            var metrics: [TaskMetrics] = []
            for task in tasks.withLock({ $0 }) { metrics.append(await task.metrics) }
            return [
                .init("metrics", TaskMetrics.answer(ofAll: metrics)),
                .init("progress", .array(steps.withLock { $0 })),
            ]
        }
    }
}

extension Order.Download {
    /// Downloads the file of a request, or the rest of it if there is an earlier token.
    /// - Returns: The members of the answer: the file, or the error beside the response.
    /// - Throws: ``CurlewError`` if there is no response.
    func members(of original: CurlewRequest, in session: HTTPSession) async throws -> [JSONValue.Member] {
        let record = DownloadRecord()
        defer { record.forgetTasks() }
        var request = original
        request.options.onTask = { record.add($0) }
        do {
            let file = try await file(of: request, in: session) { record.add($0) }
            let response = file.response ?? HTTPResponse(status: .ok)
            return Self.members(response, uri: file.uri, history: file.history) + [
                .init("file", .string(file.path))
            ] + (await record.members)
        } catch let error as CurlewError {
            // Without a token file the download cannot be resumed, so its bytes are deleted.
            if options.tokenFile == nil { await error.resumeToken?.discard() }
            guard let response = error.response else { throw error }
            return Self.members(
                response, body: error.body ?? error.bodyPrefix, uri: error.uri ?? request.uri, history: error.history)
                + (await record.members) + Answering.failure(error.message, error.code.rawValue)
        }
    }

    private func file(
        of request: CurlewRequest, in session: HTTPSession, progress: @escaping @Sendable (TaskProgress) -> Void
    ) async throws -> DownloadedFile {
        if let token = try await token(for: request.uri) {
            return try await session.download(
                resuming: token, to: .file(path), fields: request.fields, download: options, options: request.options,
                progress: progress)
        }
        return try await session.download(
            .uri(request.uri), to: .file(path), fields: request.fields, download: options, options: request.options,
            progress: progress)
    }

    /// The token of an earlier download; one of another URL is ignored.
    private func token(for uri: CurlewURI) async throws -> ResumeToken? {
        guard let path = options.tokenFile, Descriptor.isFile(path) else { return nil }
        let token = try await ResumeToken(contentsOf: path)
        guard token.uri == uri else {
            await token.discard()
            return nil
        }
        return token
    }

    private static func members(
        _ head: HTTPResponse, body: [UInt8]? = nil, uri: CurlewURI, history: [CurlewResponse.Redirect]
    ) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("status", .integer(head.status.code)),
            .init("reason", .string(head.status.reasonPhrase)),
            .init("headers", .list(head.headerFields)),
        ]
        if let body { members.append(.init("body", .base64(body))) }
        return members + [
            .init("url", .string("\(uri)")),
            .init("redirects", .integer(history.count)),
            .init("history", .array(history.map(JSONValue.hop))),
        ]
    }
}
