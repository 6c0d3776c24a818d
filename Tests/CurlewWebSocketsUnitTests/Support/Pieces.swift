import SeededNumbers

/// Divisions of bytes into the pieces in which they arrive.
enum Pieces {
    /// A single piece, pieces of one byte, and some random pieces.
    static func all(of bytes: [UInt8], seed: UInt64 = 1) -> [[[UInt8]]] {
        [[bytes], bytes.map { [$0] }, random(bytes, seed: seed, upTo: 3), random(bytes, seed: seed + 1, upTo: 50)]
    }

    /// Random pieces, some of them empty.
    static func random(_ bytes: [UInt8], seed: UInt64, upTo limit: Int) -> [[UInt8]] {
        var numbers = SeededNumbers(seed: seed)
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(numbers.next(upTo: limit + 1))
            pieces.append(Array(piece))
            rest = rest[piece.endIndex...]
        }
        return pieces
    }

    /// Two pieces, for each position between two bytes.
    static func pairs(of bytes: [UInt8]) -> [[[UInt8]]] {
        (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
    }

    /// Pieces of one size, except for the last.
    static func chunks(of bytes: [UInt8], size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}
