/// A set of bytes of a file, as ranges in their order that neither touch nor overlap.
struct ByteRanges: Sendable, Hashable {
    private(set) var ranges: [Range<Int64>] = []

    init() {}

    init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// How many bytes there are.
    var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// Adds the bytes of a range.
    mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
        let touched = ranges[first..<end]
        let lower = min(range.lowerBound, touched.first?.lowerBound ?? range.lowerBound)
        let upper = max(range.upperBound, touched.last?.upperBound ?? range.upperBound)
        ranges.replaceSubrange(first..<end, with: [lower..<upper])
    }

    /// The bytes of a whole that are not there, in their order.
    /// - Parameter total: The length of the whole; nil is not known, and the last range then goes to `Int64.max`.
    func missing(of total: Int64?) -> [Range<Int64>] {
        let end = total ?? .max
        var gaps: [Range<Int64>] = []
        var position: Int64 = 0
        for range in ranges where range.lowerBound < end {
            if position < range.lowerBound { gaps.append(position..<range.lowerBound) }
            position = range.upperBound
        }
        if position < end { gaps.append(position..<end) }
        return gaps
    }

    /// Whether all bytes of the whole are there, and none beyond it.
    func isWhole(of total: Int64) -> Bool { total == 0 ? ranges.isEmpty : ranges == [0..<total] }
}
