#if TestKit
internal import Curlew
internal import HTTPTypes

/// A part of a body that passes a recorder.
enum RecordedPiece {
    /// Bytes that begin at an offset. A request's body may be read more than once, even while an earlier reading is
    /// still ending.
    case chunk([UInt8], offset: Int)
    case end(trailers: HTTPFields)
    case failure(any Error)
}

/// The chunks of a body; a recorder sees each chunk before the reader.
struct RecordedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error
    /// A function that records a part; its error ends the body.
    typealias Recorder = @Sendable (RecordedPiece) throws -> Void

    private let open: @Sendable () async throws -> any AsyncIteratorProtocol<[UInt8], any Error>
    private let trailers: @Sendable () -> HTTPFields
    private let record: Recorder

    /// The chunks of a response's body.
    init(_ body: CurlewResponse.Body, _ record: @escaping Recorder) {
        self.open = { FailableSequence(base: body).makeAsyncIterator() }
        self.trailers = { body.trailers }
        self.record = record
    }

    private init(_ body: CurlewRequest.Body, _ record: @escaping Recorder) {
        // The body opens when it is first read: a body that can be read only once must survive a request that is never
        // sent.
        self.open = { try await body.stream().makeAsyncIterator() }
        self.trailers = { [:] }
        self.record = record
    }

    /// A request's body with a recorder, with the same length and replayability as the original.
    static func recording(_ body: CurlewRequest.Body, _ record: @escaping Recorder) -> CurlewRequest.Body {
        if body.isNone { return body }
        // The length of a missing file throws here, and sending the file will throw later.
        let length = (try? body.lengthNow()) ?? body.length
        if body.isReplayable { return .stream(length: length) { RecordedChunks(body, record) } }
        return .once(length: length, RecordedChunks(body, record))
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let source: RecordedChunks
        private var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?
        private var offset = 0

        fileprivate init(source: RecordedChunks) {
            self.source = source
        }

        mutating func next() async throws -> [UInt8]? { try await self.next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            do {
                if self.chunks == nil { self.chunks = try await self.source.open() }
                guard let chunk = try await self.chunks?.next(isolation: actor) else {
                    try self.source.record(.end(trailers: self.source.trailers()))
                    return nil
                }
                try self.source.record(.chunk(chunk, offset: self.offset))
                self.offset += chunk.count
                return chunk
            } catch {
                try? self.source.record(.failure(error))
                throw error
            }
        }
    }
}
#endif
