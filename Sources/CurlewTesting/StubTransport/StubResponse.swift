#if TestKit
internal import Curlew
internal import HTTPTypes

/// A response that a ``StubAnswer`` has stored.
struct StubResponse: Sendable {
    let status: HTTPResponse.Status
    let fields: HTTPFields
    let body: StubAnswer.Body
    let version: HTTPProtocolVersion

    func make(for request: CurlewRequest, clock: any Clock<Duration>) -> CurlewResponse {
        var fields = self.fields
        let isBodiless = [204, 304].contains(self.status.code)
        if !isBodiless, fields[.contentLength] == nil, let length = self.body.length {
            fields[.contentLength] = String(length)
        }
        let hasBody = !isBodiless && request.method != .head
        let head = HTTPResponse(status: self.status, headerFields: fields)
        let chunks = StubChunks(body: self.body, request: request, head: head, clock: clock)
        return CurlewResponse(
            self.status,
            fields: fields,
            body: hasBody ? .stream(chunks, length: self.body.length) : .bytes([]),
            version: self.version,
            uri: request.uri
        )
    }
}

/// The chunks of a stub's body, as they arrive.
struct StubChunks: AsyncSequence, Sendable {
    let body: StubAnswer.Body
    let request: CurlewRequest
    let head: HTTPResponse
    let clock: any Clock<Duration>

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: StubChunks
        private var position = 0

        init(_ source: StubChunks) { self.source = source }

        mutating func next() async throws -> [UInt8]? {
            let chunks = self.source.body.chunks
            do {
                try Task.checkCancellation()
                while true {
                    let breakage = self.source.body.breakage
                    if let breakage, self.position == chunks.count || self.position >= breakage.count {
                        throw self.source.error(breakage.code, "the body ended early, as the stub's response requires")
                    }
                    guard self.position < chunks.count else { return nil }
                    if let pause = self.source.body.pause { try await self.source.clock.sleep(for: pause) }
                    self.position += 1
                    if !chunks[self.position - 1].isEmpty { return chunks[self.position - 1] }
                }
            } catch is CancellationError {
                throw self.source.error(.cancelled, "the task was cancelled")
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    private func error(_ code: ErrorCode, _ message: String) -> CurlewError {
        CurlewError(code, message)
            .adding(method: self.request.method, uri: self.request.uri, stage: .receiving, response: self.head)
    }
}
#endif
