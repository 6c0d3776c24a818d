#if TestKit
internal import Curlew
internal import HTTPTypes

/// A piece of a body on its way past a recorder.
enum RecordedPiece {
    /// The bytes from an offset on. A request's body may be read more than once, also while an earlier reading is still ending.
    case chunk([UInt8], offset: Int)
    case end(trailers: HTTPFields)
    case failure(any Error)
}

/// The chunks of a body, each shown to a recorder before it is handed on.
struct RecordedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error
    /// Takes a piece; an error ends the body.
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
        // Not before it is read: what can be read only once would be used up by a request that is never sent.
        self.open = { try await body.stream().makeAsyncIterator() }
        self.trailers = { [:] }
        self.record = record
    }

    /// The body of a request, which is as long and as replayable as the original.
    static func recording(_ body: CurlewRequest.Body, _ record: @escaping Recorder) -> CurlewRequest.Body {
        if body.isNone { return body }
        // Asking a file for its length fails for one that is not there, and so will sending it.
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
