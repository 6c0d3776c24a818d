/// Feeds a parser with a body when a part is requested; it does not read ahead.
actor MultipartReader {
    private var chunks: CurlewResponse.Body.AsyncIterator?
    private var parser: MultipartParser
    private let limits: CurlewResponse.MultipartParts.Limits
    /// The number of the present part, from 1.
    private var part = 0
    /// True if the body of the present part continues.
    private var isInside = false
    private var isReading = false

    init(body: CurlewResponse.Body, parser: MultipartParser, limits: CurlewResponse.MultipartParts.Limits) {
        chunks = body.makeAsyncIterator()
        self.parser = parser
        self.limits = limits
    }

    /// The next part, after the rest of the previous one.
    func nextPart() async throws -> CurlewResponse.MultipartParts.Part? {
        try beginReading()
        defer { isReading = false }
        while let event = try await nextEvent() {
            switch event {
            case .head(let fields):
                part += 1
                isInside = true
                return CurlewResponse.MultipartParts.Part(
                    fields: fields, body: .stream(PartChunks(reader: self, part: part)))
            case .body: break
            case .partEnd: isInside = false
            case .end:
                await readEpilogue()
                return nil
            }
        }
        return nil
    }

    /// The next bytes of a part; nil at its end.
    fileprivate func nextChunk(of number: Int) async throws -> [UInt8]? {
        guard number == part else {
            throw CurlewError(
                .responseAlreadyTaken, "the next part was requested before this one was read to its end")
        }
        guard isInside else { return nil }
        try beginReading()
        defer { isReading = false }
        while let event = try await nextEvent() {
            if case .body(let bytes) = event { return bytes }
            if case .partEnd = event { break }
        }
        isInside = false
        return nil
    }

    private func beginReading() throws {
        guard !isReading else {
            throw CurlewError(.responseAlreadyTaken, "the multipart body is read by two tasks at once")
        }
        isReading = true
    }

    private func nextEvent() async throws -> MultipartParser.Event? {
        do {
            while true {
                if let event = try parser.next() { return event }
                guard var iterator = chunks else { return nil }
                if let chunk = try await iterator.next() {
                    chunks = iterator
                    parser.append(chunk)
                } else {
                    chunks = nil
                    parser.finish()
                }
            }
        } catch {
            // Without a reference to the body, the transfer ends.
            chunks = nil
            isInside = false
            throw error
        }
    }

    /// Reads to the end of the body, so that the connection can be reused. Errors are ignored, as all parts have been
    /// read.
    private func readEpilogue() async {
        var count = 0
        while count <= limits.epilogueSize.bytes, var iterator = chunks {
            guard let chunk = try? await iterator.next() else { break }
            chunks = iterator
            count += chunk.count
        }
        chunks = nil
    }
}

/// The bytes of one part.
private struct PartChunks: AsyncSequence, Sendable {
    let reader: MultipartReader
    let part: Int

    struct Iterator: AsyncIteratorProtocol {
        let reader: MultipartReader
        let part: Int
        var isAtEnd = false

        mutating func next() async throws -> [UInt8]? {
            guard !isAtEnd else { return nil }
            let chunk = try await reader.nextChunk(of: part)
            isAtEnd = chunk == nil
            return chunk
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader, part: part) }
}
