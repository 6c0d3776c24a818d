/// Finds a pattern in bytes, skipping where it cannot be (Horspool's search).
struct DelimiterSearch: Sendable {
    let pattern: [UInt8]
    /// How far to go on for each value of the byte under the pattern's end.
    private let skips: [Int]

    /// - Parameter pattern: Not empty.
    init(_ pattern: [UInt8]) {
        self.pattern = pattern
        var skips = [Int](repeating: pattern.count, count: 256)
        for (place, byte) in pattern.dropLast().enumerated() { skips[Int(byte)] = pattern.count - 1 - place }
        self.skips = skips
    }

    /// Where the pattern first stands at `start` or behind it.
    func firstMatch(in bytes: [UInt8], from start: Int) -> Int? {
        let last = pattern.count - 1
        var end = start + last
        while end < bytes.count {
            if bytes[end] == pattern[last], stands(in: bytes, at: end - last, length: last) { return end - last }
            end += skips[Int(bytes[end])]
        }
        return nil
    }

    /// Where the pattern may have begun that the end of the bytes cuts off; the end if nowhere.
    func partialMatch(in bytes: [UInt8], from start: Int) -> Int {
        var place = max(start, bytes.count - pattern.count + 1)
        while place < bytes.count, !stands(in: bytes, at: place, length: bytes.count - place) { place += 1 }
        return min(place, bytes.count)
    }

    private func stands(in bytes: [UInt8], at place: Int, length: Int) -> Bool {
        for offset in 0..<length where bytes[place + offset] != pattern[offset] { return false }
        return true
    }
}
