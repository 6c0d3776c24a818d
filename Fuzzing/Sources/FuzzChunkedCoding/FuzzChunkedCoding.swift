internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for the chunked coding. The pieces must not decide if the coding is broken. A body that is coded by
/// the RFC must be valid, and bytes after the last chunk must not matter.
@main
struct FuzzChunkedCoding: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        let bytes = choices.rest
        let isBroken = follow([bytes])
        for pieces in piecings(of: bytes, seed: seed) {
            require(follow(pieces) == isBroken, "whether the coding is broken depends on the pieces")
        }
        for pieces in piecings(of: coded(bytes, seed: seed) + bytes, seed: seed) {
            require(!follow(pieces), "a good coding is taken for a broken one")
        }
    }

    private static func follow(_ pieces: [[UInt8]]) -> Bool {
        var framing = ChunkFraming()
        for piece in pieces { piece.withUnsafeBytes { framing.follow($0) } }
        return framing.isBroken
    }

    private static func coded(_ content: [UInt8], seed: UInt8) -> [UInt8] {
        let chunks = piecings(of: content, seed: seed)[2].filter { !$0.isEmpty }
        let coded = chunks.flatMap {
            Array("\(String($0.count, radix: 16));a=\"b\"\r\n".utf8) + $0 + Array("\r\n".utf8)
        }
        return coded + Array("0\r\n".utf8)
    }
}
