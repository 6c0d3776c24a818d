internal import Curlew

/// The chunks of a body with their signatures.
struct SignedChunks: AsyncSequence, Sendable {
    let base: CurlewRequest.Body.Stream
    let signer: AWSChunkSigner

    struct Iterator: AsyncIteratorProtocol {
        var base: any AsyncIteratorProtocol<[UInt8], any Error>
        var signer: AWSChunkSigner
        var isFinished = false

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            while !isFinished {
                guard let piece = try await base.next(isolation: actor) else {
                    isFinished = true
                    return try signer.finish()
                }
                let framed = try signer.append(piece)
                if !framed.isEmpty { return framed }
            }
            return nil
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), signer: signer) }
}

/// Chunks that are made when they are read.
struct DeferredChunks: AsyncSequence, Sendable {
    let make: @Sendable () async throws -> SignedChunks

    struct Iterator: AsyncIteratorProtocol {
        let make: @Sendable () async throws -> SignedChunks
        var chunks: SignedChunks.Iterator?

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            var current: SignedChunks.Iterator
            if let chunks { current = chunks } else { current = try await make().makeAsyncIterator() }
            defer { chunks = current }
            return try await current.next(isolation: actor)
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(make: make) }
}

extension CurlewRequest.Body {
    /// The SHA-256 of a body, which is read from its beginning for this.
    /// - Parameter hint: The alternatives, for the text of the error.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/bodyNotReplayable`` for a body that can be read only
    ///   once.
    func sha256(hint: String) async throws -> [UInt8] {
        guard isReplayable else {
            throw CurlewError(
                .bodyNotReplayable, "the body has to be read before it is sent, and can be read only once: \(hint)")
        }
        let digest = try MessageDigest(.sha256)
        for try await piece in try await stream() { try digest.update(piece) }
        return try digest.finishedBytes()
    }
}
