package import HTTPTypes

extension CurlewResponse.Body {
    /// The same body with trailers that are known beforehand, such as those of a stored response.
    package func adding(_ trailers: HTTPFields) -> CurlewResponse.Body {
        CurlewResponse.Body(storage: .source(TrailedBody(self, trailers: trailers)), length: length)
    }

    /// The same body without the trailers of some names, for a link that adds other bytes to it.
    package func removingTrailers(_ names: Set<HTTPField.Name>) -> CurlewResponse.Body {
        CurlewResponse.Body(storage: .source(ReducedBody(self, without: names)), length: length)
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

/// A body without some of its trailers.
private actor ReducedBody: BodySource {
    private let body: CurlewResponse.Body
    private let names: Set<HTTPField.Name>
    private var iterator: CurlewResponse.Body.AsyncIterator
    nonisolated let hasEnded = false

    init(_ body: CurlewResponse.Body, without names: Set<HTTPField.Name>) {
        self.body = body
        self.names = names
        iterator = body.makeAsyncIterator()
    }

    nonisolated var trailers: HTTPFields { body.trailers.filter { !names.contains($0.name) } }

    func next() async throws -> [UInt8]? {
        var iterator = iterator
        defer { self.iterator = iterator }
        return try await iterator.next()
    }

    nonisolated func skip(_ limit: inout Int) -> Bool { true }
    nonisolated func cancel() { body.abandon() }
    nonisolated func recycle(_ chunk: inout [UInt8]) { chunk = [] }
}
