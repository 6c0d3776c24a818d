package import HTTPTypes

extension CurlewResponse.Body {
    /// The same body with trailers that are known beforehand, such as those of a stored response.
    package func adding(_ trailers: HTTPFields) -> CurlewResponse.Body {
        CurlewResponse.Body(storage: .source(TrailedBody(self, trailers: trailers)), length: length)
    }
}

/// A body and its trailers.
private actor TrailedBody: BodySource {
    nonisolated let trailers: HTTPFields
    private var iterator: CurlewResponse.Body.AsyncIterator
    nonisolated let hasEnded = false

    init(_ body: CurlewResponse.Body, trailers: HTTPFields) {
        self.trailers = trailers
        iterator = body.makeAsyncIterator()
    }

    func next() async throws -> [UInt8]? {
        var iterator = iterator
        defer { self.iterator = iterator }
        return try await iterator.next()
    }

    nonisolated func skip(_ limit: inout Int) -> Bool { true }
    nonisolated func cancel() {}
    nonisolated func recycle(_ chunk: inout [UInt8]) { chunk = [] }
}
