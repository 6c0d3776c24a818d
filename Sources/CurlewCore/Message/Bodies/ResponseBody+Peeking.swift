internal import HTTPTypes

extension CurlewResponse.Body {
    /// Reads the beginning of the body, for a link that needs the content of short bodies only.
    /// - Parameter limit: The largest size of a short body. At least this number of bytes is read of a longer body,
    ///   unless its length is known.
    /// - Returns: The bytes of a short body, or nil for a longer body; and a body that takes the place of this one.
    /// - Throws: ``CurlewError`` if the body broke off within the limit.
    package func peeked(upTo limit: ByteSize) async throws -> (bytes: [UInt8]?, body: CurlewResponse.Body) {
        if let length, length > limit.bytes { return (nil, self) }
        let peeked = PeekedBody(self)
        let bytes = try await peeked.fill(upTo: limit.bytes)
        return (bytes, CurlewResponse.Body(storage: .source(peeked), length: length))
    }
}

/// A body whose first bytes were read already.
private actor PeekedBody: BodySource {
    private let body: CurlewResponse.Body
    private var iterator: CurlewResponse.Body.AsyncIterator
    private var beginning: [UInt8] = []
    private let isAtEnd = Guarded(false)

    init(_ body: CurlewResponse.Body) {
        self.body = body
        iterator = body.makeAsyncIterator()
    }

    nonisolated var trailers: HTTPFields { body.trailers }
    nonisolated var hasEnded: Bool { isAtEnd.withLock { $0 } }

    /// Reads until the body ends, or until more bytes than the limit have arrived.
    /// - Returns: The bytes of the complete body; nil if it is longer.
    func fill(upTo limit: Int) async throws -> [UInt8]? {
        while let chunk = try await read() {
            beginning += chunk
            if beginning.count > limit { return nil }
        }
        return beginning
    }

    func next() async throws -> [UInt8]? {
        guard beginning.isEmpty else {
            defer { beginning = [] }
            return beginning
        }
        return try await read()
    }

    private func read() async throws -> [UInt8]? {
        var iterator = iterator
        defer { self.iterator = iterator }
        let chunk = try await iterator.next()
        if chunk == nil { isAtEnd.withLock { $0 = true } }
        return chunk
    }

    /// No bytes are skipped: a body that is longer than the peeked part is too long to be read for its connection.
    nonisolated func skip(_ limit: inout Int) -> Bool { true }
    nonisolated func cancel() { body.abandon() }
    nonisolated func recycle(_ chunk: inout [UInt8]) { chunk = [] }
}
