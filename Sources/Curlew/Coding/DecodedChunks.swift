/// The bytes of a body, decoded as they are read.
struct DecodedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: ResponseBody
    /// In the order in which they were applied.
    let codings: [ContentDecoderKind]
    let limits: ContentDecodingLimits
    let context: CurlewError.Context

    /// The size of a piece at most.
    static let pieceSize = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(decoding: BodyDecoding(self)) }

    struct Iterator: AsyncIteratorProtocol {
        // A reference: what the libraries keep cannot be copied.
        let decoding: BodyDecoding

        mutating func next() async throws -> [UInt8]? { try await decoding.next() }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            try await decoding.next()
        }
    }
}

/// The decoding of one body: a stack of decoders that the bytes go through, and what was counted. It holds one chunk of the
/// body and one piece behind each decoder.
final class BodyDecoding {
    private var chunks: ResponseBody.AsyncIterator
    private var stack: DecoderStack?
    private let sequence: DecodedChunks

    init(_ sequence: DecodedChunks) {
        self.sequence = sequence
        chunks = sequence.body.makeAsyncIterator()
        stack = DecoderStack(codings: sequence.codings, limits: sequence.limits)
    }

    /// The next piece; nil at the end, and after an error, which leaves nothing to go on with.
    func next() async throws -> [UInt8]? {
        guard var stack = stack.take() else { return nil }
        do {
            while true {
                switch try stack.next() {
                case .piece(let piece):
                    self.stack = stack
                    return piece
                case .end: return nil
                case .hungry: try stack.feed(try await chunks.next())
                }
            }
        } catch {
            sequence.body.abandon()
            throw (error as? CurlewError)?.adding(sequence.context) ?? error
        }
    }
}
