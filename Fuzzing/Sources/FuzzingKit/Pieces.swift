/// Cuts the bytes into pieces in three ways: single bytes, and two ways that depend on `seed`, with some empty pieces.
///
/// The pieces depend only on the bytes and the seed, so that a finding can be reproduced.
public func piecings(of bytes: [UInt8], seed: UInt8) -> [[[UInt8]]] {
    [bytes.map { [$0] }, pieces(of: bytes, seed: seed, upTo: 3), pieces(of: bytes, seed: seed, upTo: 40)]
}

private func pieces(of bytes: [UInt8], seed: UInt8, upTo limit: Int) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var state = UInt32(seed) &* 2_654_435_761 &+ 12_345
    var rest = bytes[...]
    while !rest.isEmpty {
        state = state &* 1_664_525 &+ 1_013_904_223
        let piece = rest.prefix(Int(state >> 16) % (limit + 1))
        pieces.append(Array(piece))
        rest = rest[piece.endIndex...]
    }
    return pieces
}
