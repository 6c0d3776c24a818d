/// A set of bytes of a file, as ranges in their order that neither touch nor overlap.
struct ByteRanges: Sendable, Hashable {
    private(set) var ranges: [Range<Int64>] = []

    init() {}

    init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// The number of bytes.
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

    /// True if all bytes of the whole are there, and none beyond it.
    func isWhole(of total: Int64) -> Bool { total == 0 ? ranges.isEmpty : ranges == [0..<total] }
}

/// The division of the missing bytes of a file among several connections.
struct SegmentPlan: Sendable, Hashable {
    /// The most segments at a time.
    static let countLimit = 16
    /// The least that a segment has: less is not worth a request.
    static let smallestSegment: ByteSize = .mebibytes(8)

    /// The segments in the order of the file.
    let segments: [Range<Int64>]

    /// Divides the gaps into parts of about the same size.
    /// - Parameters:
    ///   - gaps: The bytes that are missing, in their order. One that goes to `Int64.max` is not divided.
    ///   - count: How many segments are wanted, and fetched at a time; from 1 to ``countLimit``.
    ///   - smallest: The least that a segment has, unless its gap has less.
    init(dividing gaps: [Range<Int64>], into count: Int, smallest: ByteSize) {
        let count = Int64(min(max(count, 1), Self.countLimit))
        let size = Int64(max(smallest.bytes, 1))
        let isEndless = gaps.last?.upperBound == .max
        guard count > 1, !isEndless else {
            segments = gaps
            return
        }
        let missing = gaps.reduce(Int64(0)) { $0 + ($1.upperBound - $1.lowerBound) }
        // Rounded up without a sum: what servers and tokens say may be as much as there are numbers.
        let share = max(missing / count + (missing % count).signum(), size)
        segments = gaps.flatMap { Self.divide($0, share: share, smallest: size) }
    }

    private static func divide(_ gap: Range<Int64>, share: Int64, smallest: Int64) -> [Range<Int64>] {
        var parts: [Range<Int64>] = []
        var position = gap.lowerBound
        while position < gap.upperBound {
            let left = gap.upperBound - position
            // What would remain joins the last part if it is too small for one of its own.
            let length = left - min(left, share) < smallest ? left : share
            parts.append(position..<(position + length))
            position += length
        }
        return parts
    }
}
