extension CurlewRequest.Body {
    /// The number of bytes that are read from a file at a time.
    static let filePart = 256 << 10

    /// The bytes as a stream, for a link that makes another body of them, or a ``Transport`` that sends them elsewhere.
    ///
    /// A body that can be read only once is used up by this call. A stream that ends before its promised length, or
    /// exceeds it,
    /// fails with ``ErrorCode/bodyLengthMismatch``. Files are read off the caller's thread.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyNotReplayable`` if the body was used up before,
    ///  ``ErrorCode/bodyFailed`` for a file that cannot be opened, or the error of the closure that makes the stream.
    public func stream() async throws -> Stream {
        switch source {
        case .none: return FailableSequence(base: Chunks(chunks: []))
        case .bytes(let bytes): return FailableSequence(base: Chunks(chunks: [bytes]))
        case .file(let path, let offset, let length):
            return WatchedFileChunks(file: try WatchedFile(path: path, offset: offset, length: length))
        case .watched(let file): return WatchedFileChunks(file: file)
        case .factory(let make): return checked(try await make())
        case .once(let oneShot):
            guard let stream = await oneShot.take() else {
                throw CurlewError(.bodyNotReplayable, "the body was read before and cannot be read again")
            }
            return checked(stream)
        case .relayed(let body): return checked(RelayedChunks(body: body))
        }
    }

    private func checked(_ stream: Stream) -> Stream {
        length.map { MeasuredChunks(base: stream, length: $0) } ?? stream
    }
}

/// Chunks that are already in memory.
private struct Chunks: AsyncSequence, Sendable {
    let chunks: [[UInt8]]

    struct Iterator: AsyncIteratorProtocol {
        var chunks: ArraySlice<[UInt8]>

        mutating func next() async -> [UInt8]? { chunks.popFirst() }

        mutating func next(isolation actor: isolated (any Actor)?) async -> [UInt8]? { chunks.popFirst() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks[...]) }
}

/// The chunks of another stream, whose number of bytes must be the promised one.
private struct MeasuredChunks: AsyncSequence, Sendable {
    let base: CurlewRequest.Body.Stream
    let length: Int64

    struct Iterator: AsyncIteratorProtocol {
        var base: any AsyncIteratorProtocol<[UInt8], any Error>
        let length: Int64
        var count: Int64 = 0

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            let chunk = try await base.next(isolation: actor)
            count += Int64(chunk?.count ?? 0)
            guard count <= length, chunk != nil || count == length else {
                throw CurlewError(
                    .bodyLengthMismatch, "the body does not have the \(length) bytes that it promised")
            }
            return chunk
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), length: length) }
}
