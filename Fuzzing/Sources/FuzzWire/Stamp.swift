/// Marks that identify a request: one in its path, one in its answer.
enum Stamp {
    /// The placeholder for a mark in an answer.
    private static let place = Array("[STAMP!]".utf8)
    /// A random number of this process, so that no input can contain a mark.
    private static let secret = UInt64.random(in: .min ... .max)

    /// The path of a request. Huffman's code for X and Z has eight bits, so HPACK leaves the path as text.
    static func path(_ number: Int) -> String {
        "/" + String((0..<6).map { number >> $0 & 1 == 1 ? "X" : "Z" })
    }

    /// The number of the request whose path is in a head or in a field block.
    static func number(in head: ArraySlice<UInt8>) -> Int? {
        var rest = head
        while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            rest = rest[(slash + 1)...]
            let letters = rest.prefix(6)
            guard letters.count == 6, letters.allSatisfy({ $0 == UInt8(ascii: "X") || $0 == UInt8(ascii: "Z") }) else {
                continue
            }
            return letters.reversed().reduce(0) { $0 << 1 | ($1 == UInt8(ascii: "X") ? 1 : 0) }
        }
        return nil
    }

    /// Writes the mark of a request to all placeholders.
    static func put(_ number: Int, into bytes: inout [UInt8]) {
        guard bytes.count >= 8 else { return }
        for start in 0...bytes.count - 8 where bytes[start..<start + 8].elementsEqual(place) {
            let word = word(number)
            for index in 0..<8 { bytes[start + index] = UInt8(truncatingIfNeeded: word >> (8 * index)) }
        }
    }

    /// The numbers whose marks are in `bytes`.
    static func numbers(in bytes: [UInt8]) -> Set<Int> {
        guard bytes.count >= 8 else { return [] }
        var found: Set<Int> = []
        var window: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            window = window >> 8 | UInt64(byte) << 56
            guard index >= 7 else { continue }
            let number = (window ^ secret) &* 0xFC18_40F3_5BFA_A7ED
            // The compared number is not in the input, so libFuzzer learns no mark from the comparison.
            if number > 0, number <= UInt64(WireScript.answerLimit) { found.insert(Int(number)) }
        }
        return found
    }

    /// The 64-bit mark of a number. ``numbers(in:)`` decodes it: its factor is the inverse of the factor here.
    private static func word(_ number: Int) -> UInt64 { (UInt64(number) &* 0x0123_4567_89AB_CDE5) ^ secret }
}
