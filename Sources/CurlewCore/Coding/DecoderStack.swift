/// A sequence of decoders, with limits for the output of each.
struct DecoderStack {
    /// The outcome of one step.
    enum Step {
        case piece([UInt8])
        /// The decoder needs more of the body.
        case hungry
        case end
    }

    /// A decoder, its pending input, and the number of bytes of its output.
    private struct Layer {
        let decoder: any ContentDecoder
        var input: ArraySlice<UInt8> = []
        var produced = 0
        var isAtEnd = false
    }

    private let kinds: [ContentDecoderKind]
    private let limits: ContentDecoding.Limits
    /// The layers; the first is next to the network. Empty until the first byte.
    private var layers: [Layer] = []
    private var received = 0
    private var isAtEnd = false

    /// - Parameter codings: The codings in the order in which they were applied.
    init(codings: [ContentDecoderKind], limits: ContentDecoding.Limits) {
        kinds = codings.reversed()
        self.limits = limits
    }

    /// Takes a chunk of the body; nil is its end. It is called only after ``Step/hungry``.
    mutating func feed(_ chunk: [UInt8]?) throws {
        guard let chunk else {
            isAtEnd = true
            return
        }
        guard !chunk.isEmpty else { return }
        if layers.isEmpty { layers = try kinds.map { Layer(decoder: try $0.makeDecoder()) } }
        received += chunk.count
        layers[0].input = chunk[...]
    }

    mutating func next() throws -> Step {
        // A body without any byte is empty, whatever its coding.
        if layers.isEmpty { return isAtEnd ? .end : .hungry }
        var index = layers.count - 1
        while true {
            let piece = try decode(at: index)
            if !piece.isEmpty {
                if index == layers.count - 1 { return .piece(piece) }
                index += 1
                layers[index].input = piece[...]
            } else if index > 0, !layers[index - 1].isAtEnd {
                index -= 1
            } else if index == 0, !isAtEnd {
                // The reference is released, so that the memory of the chunk can be reused.
                layers[0].input = []
                return .hungry
            } else if try isLast(ending: index) {
                return .end
            } else {
                index += 1
            }
        }
    }

    private mutating func decode(at index: Int) throws -> [UInt8] {
        let waiting = layers[index].input.count
        let size = waiting == 0 ? DecodedChunks.pieceSize : min(DecodedChunks.pieceSize, max(1024, waiting * 4))
        let piece = try layers[index].decoder.decode(&layers[index].input, upTo: size)
        layers[index].produced += piece.count
        let produced = layers[index].produced
        if let size = limits.size, index == layers.count - 1, produced > size.bytes {
            throw CurlewError(.responseTooLarge, "the decoded body is larger than \(size.bytes) bytes")
        }
        guard produced <= limits.growth(of: received - layers[0].input.count) else {
            throw CurlewError(
                .responseTooLarge, "the body grows more than \(limits.ratio ?? 0) times larger when it is decoded")
        }
        return piece
    }

    /// Ends a decoder that gets no further input. Returns true if it is the last one.
    private mutating func isLast(ending index: Int) throws -> Bool {
        guard layers[index].decoder.isComplete else {
            throw CurlewError(.responseTruncated, "the coded body ends too early")
        }
        layers[index].isAtEnd = true
        return index == layers.count - 1
    }
}

/// The bytes of a body, decoded as they are read.
struct DecodedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: CurlewResponse.Body
    /// The codings in the order in which they were applied.
    let codings: [ContentDecoderKind]
    let limits: ContentDecoding.Limits
    let context: CurlewError.Context
    /// Called if the bytes cannot be decoded.
    var rejection: (@Sendable () async -> Void)?

    /// The largest size of a piece.
    static let pieceSize = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(decoding: BodyDecoding(self)) }

    struct Iterator: AsyncIteratorProtocol {
        // A reference, because the state of the libraries cannot be copied.
        let decoding: BodyDecoding

        mutating func next() async throws -> [UInt8]? { try await decoding.next() }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            try await decoding.next()
        }
    }
}

/// The decoding of a body: a stack of decoders with its counters. It holds one chunk of the body, and one piece of
/// output of each decoder.
final class BodyDecoding {
    private var chunks: CurlewResponse.Body.AsyncIterator
    private var stack: DecoderStack?
    private let sequence: DecodedChunks

    init(_ sequence: DecodedChunks) {
        self.sequence = sequence
        chunks = sequence.body.makeAsyncIterator()
        stack = DecoderStack(codings: sequence.codings, limits: sequence.limits)
    }

    /// The next piece; nil at the end, and after an error.
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
            if let code = (error as? CurlewError)?.code, [.contentDecodingFailed, .responseTruncated].contains(code) {
                await sequence.rejection?()
            }
            throw (error as? CurlewError)?.adding(sequence.context) ?? error
        }
    }
}
