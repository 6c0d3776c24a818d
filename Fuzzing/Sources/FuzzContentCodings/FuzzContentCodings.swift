internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for content codings. The decoding must not depend on the pieces of the body, must stay within its
/// bounds, and must reverse compression.
@main
struct FuzzContentCodings: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        let kinds = choices.one(of: [
            [ContentDecoderKind.gzip], [.deflate], [.brotli], [.zstandard], [.gzip, .brotli], [.zstandard, .deflate],
            [.brotli, .zstandard, .gzip],
        ])
        let body = choices.rest
        // The ratio has no limit here: the part of a chunk that is consumed at a given time depends on the pieces.
        if kinds.count == 1 {
            let limits = ContentDecoding.Limits(ratio: nil, size: .kibibytes(256))
            let whole = decoded([body], kinds, limits)
            for pieces in piecings(of: body, seed: seed) {
                requireEqual(decoded(pieces, kinds, limits), whole, "what comes out depends on the pieces")
            }
        }
        let bounds = ContentDecoding.Limits(ratio: 10, ratioFreeSize: .kibibytes(32))
        if let output = decoded([body], kinds, bounds) {
            require(output.count <= max(32 << 10, body.count * 10), "a body grows too large")
        }
        checkCompression(of: body, seed: seed)
    }

    private static func checkCompression(of body: [UInt8], seed: UInt8) {
        let limits = ContentDecoding.Limits(ratio: nil)
        for (format, kind) in [(RequestCompression.Format.gzip, ContentDecoderKind.gzip), (.deflate, .deflate)] {
            guard let coded = try? format.compress(body) else { continue }
            for pieces in [[coded]] + piecings(of: coded, seed: seed) {
                requireEqual(decoded(pieces, [kind], limits), body, "what was compressed comes out otherwise")
            }
            // Zeros after the end of gzip are padding.
            let follows = format == .gzip && seed == 0 ? body : nil
            requireEqual(decoded([coded, [seed]], [kind], limits), follows, "what follows the end is not seen")
            requireEqual(decoded([Array(coded.dropLast())], [kind], limits), nil, "a missing end is not seen")
        }
    }

    /// The decoded bytes; nil for an error.
    private static func decoded(
        _ pieces: [[UInt8]], _ kinds: [ContentDecoderKind], _ limits: ContentDecoding.Limits
    ) -> [UInt8]? {
        var stack = DecoderStack(codings: kinds, limits: limits)
        var output: [UInt8] = []
        var rest = pieces[...]
        do {
            while true {
                switch try stack.next() {
                case .end: return output
                case .hungry: try stack.feed(rest.popFirst())
                case .piece(let piece):
                    require(!piece.isEmpty && piece.count <= DecodedChunks.pieceSize, "a piece has a wrong size")
                    output += piece
                }
            }
        } catch let error as CurlewError {
            let codes = [ErrorCode.contentDecodingFailed, .responseTruncated, .responseTooLarge]
            require(codes.contains(error.code), "an unexpected error: \(error)")
            return nil
        } catch {
            require(false, "an error of another kind: \(error)")
            return nil
        }
    }
}
