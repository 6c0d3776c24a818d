/// What HTTP calls deflate: zlib's format (RFC 1950), and the data without a frame (RFC 1951) that some servers send instead.
///
/// The first two bytes tell them apart. Data without a frame could begin as zlib's does only with a stored block whose
/// padding is not zero, which no compressor writes.
final class DeflateDecoder: ContentDecoder {
    private var inflater: Inflater?
    /// The first byte, while it is the only one.
    private var first: UInt8?

    var isComplete: Bool { inflater?.isComplete ?? false }

    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        if let inflater { return try inflater.decode(&input, upTo: count) }
        if let first {
            guard !input.isEmpty else { return [] }
            input = [first] + input
            self.first = nil
        }
        guard input.count > 1 else {
            first = input.popFirst()
            return []
        }
        let inflater = try Inflater(Self.isZlib(input[input.startIndex], input[input.startIndex + 1]) ? .zlib : .raw)
        self.inflater = inflater
        return try inflater.decode(&input, upTo: count)
    }

    /// Method 8, a window of at most 32 KiB, and the check bits (RFC 1950 §2.2).
    private static func isZlib(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
    }
}
