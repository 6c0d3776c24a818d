#if TestKit
internal import Curlew
internal import HTTPTypes

extension RecordedAnswer {
    /// Returns the recorded response or throws the recorded failure.
    func perform(for request: CurlewRequest, chunkSize: ByteSize) throws -> CurlewResponse {
        guard let recorded = self.exchange.response else {
            let failure = self.exchange.failure ?? Recording.Failure(.foreignFailure, stage: .exchanging)
            throw failure.error.adding(stage: failure.stage)
        }
        let isBodiless = request.method == .head || [204, 304].contains(recorded.status.code)
        var fields = recorded.fields
        if !isBodiless, recorded.body.isComplete, fields[.contentLength] != nil {
            fields[.contentLength] = String(recorded.body.bytes.count)
        }
        var response = CurlewResponse(recorded.status, fields: fields, version: recorded.version, uri: request.uri)
        response.interim = recorded.interim
        if isBodiless { return response }
        let chunks = ReplayedChunks(
            body: recorded.body, ending: self.ending(of: recorded), size: max(1, chunkSize.bytes), request: request,
            head: response.head)
        response.body = .stream(chunks, length: response.contentLength)
        if !recorded.trailers.isEmpty { response.body = response.body.adding(recorded.trailers) }
        return response
    }

    /// The error at the end of the body; nil for a regular end.
    private func ending(of response: Recording.Response) -> CurlewError? {
        if let failure = self.exchange.failure { return failure.error }
        if response.body.isComplete { return nil }
        return CurlewError(
            .recordingFailed,
            "only the first \(response.body.bytes.count) bytes of the body were read, and therefore recorded (\(self.name))"
        )
    }
}

extension Recording.Failure {
    fileprivate var error: CurlewError {
        CurlewError(self.code, self.message.isEmpty ? "a recorded failure" : self.message)
    }
}

/// The pieces of a recorded body.
private struct ReplayedChunks: AsyncSequence, Sendable {
    let body: Recording.Body
    let ending: CurlewError?
    let size: Int
    let request: CurlewRequest
    let head: HTTPResponse

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: ReplayedChunks
        private var position = 0

        init(_ source: ReplayedChunks) {
            self.source = source
        }

        mutating func next() async throws -> [UInt8]? {
            let bytes = self.source.body.bytes
            if Task.isCancelled { throw self.source.completed(CurlewError(.cancelled, "the task was cancelled")) }
            guard self.position < bytes.count else {
                if let ending = self.source.ending { throw self.source.completed(ending) }
                return nil
            }
            let chunk = bytes[self.position...].prefix(self.source.size)
            self.position = chunk.endIndex
            return Array(chunk)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    private func completed(_ error: CurlewError) -> CurlewError {
        error.adding(method: self.request.method, uri: self.request.uri, stage: .receiving, response: self.head)
    }
}
#endif
