/// A set of bytes of a file, as sorted ranges that neither touch nor overlap.
package struct ByteRanges: Sendable, Hashable {
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    package init(_ ranges: some Sequence<Range<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// The number of bytes.
    package var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// Adds the bytes of a range.
    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.endIndex
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.endIndex
        let touched = ranges[first..<end]
        let lower = min(range.lowerBound, touched.first?.lowerBound ?? range.lowerBound)
        let upper = max(range.upperBound, touched.last?.upperBound ?? range.upperBound)
        ranges.replaceSubrange(first..<end, with: [lower..<upper])
    }

    /// The missing bytes of a file, as ranges in their order.
    /// - Parameter total: The length of the file; nil if it is unknown, and the last range then ends at `Int64.max`.
    package func missing(of total: Int64?) -> [Range<Int64>] {
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

    /// True if the set contains all bytes of the file and none beyond its end.
    package func isWhole(of total: Int64) -> Bool { total == 0 ? ranges.isEmpty : ranges == [0..<total] }
}

/// The division of the missing bytes of a file among several connections.
package struct SegmentPlan: Sendable, Hashable {
    /// The most segments at a time.
    package static let countLimit = 16
    /// The smallest size of a segment; smaller ones are not worth a request.
    package static let smallestSegment: ByteSize = .mebibytes(8)

    /// The segments in the order of the file.
    package let segments: [Range<Int64>]

    /// Divides the missing ranges into segments of about the same size.
    /// - Parameters:
    ///   - gaps: The missing ranges, in their order. A range that ends at `Int64.max` is not divided.
    ///   - count: The number of segments that are fetched at a time; from 1 to ``countLimit``.
    ///   - smallest: The smallest size of a segment, unless its range is smaller.
    package init(dividing gaps: [Range<Int64>], into count: Int, smallest: ByteSize) {
        let count = Int64(min(max(count, 1), Self.countLimit))
        let size = Int64(max(smallest.bytes, 1))
        let isEndless = gaps.last?.upperBound == .max
        guard count > 1, !isEndless else {
            segments = gaps
            return
        }
        let missing = gaps.reduce(Int64(0)) { $0 + ($1.upperBound - $1.lowerBound) }
        // The division rounds up without an addition that could overflow: servers and tokens may declare any number.
        let share = max(missing / count + (missing % count).signum(), size)
        segments = gaps.flatMap { Self.divide($0, share: share, smallest: size) }
    }

    private static func divide(_ gap: Range<Int64>, share: Int64, smallest: Int64) -> [Range<Int64>] {
        var parts: [Range<Int64>] = []
        var position = gap.lowerBound
        while position < gap.upperBound {
            let left = gap.upperBound - position
            // A remainder that is too small for a segment joins the last one.
            let length = left - min(left, share) < smallest ? left : share
            parts.append(position..<(position + length))
            position += length
        }
        return parts
    }
}
