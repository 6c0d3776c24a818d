import SeededNumbers

/// Ways to cut bytes into the pieces that they come in.
enum Pieces {
    /// The whole, single bytes, and some random cuts.
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

    /// Two pieces, for each place between two bytes.
    static func pairs(of bytes: [UInt8]) -> [[[UInt8]]] {
        (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
    }

    /// Pieces of one size, but for the last.
    static func chunks(of bytes: [UInt8], size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}
