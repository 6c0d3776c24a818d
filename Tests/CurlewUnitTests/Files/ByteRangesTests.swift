import SeededNumbers
import Testing

@testable import CurlewCore

@Suite("Ranges, gaps and segments")
struct SegmentPlanTests {
    @Test("adjacent or overlapping ranges are merged")
    func inserting() {
        #expect(ByteRanges([0..<5, 5..<9]).ranges == [0..<9])
        #expect(ByteRanges([10..<20, 0..<5, 4..<11]).ranges == [0..<20])
        #expect(ByteRanges([10..<20, 0..<5, 30..<31]).ranges == [0..<5, 10..<20, 30..<31])
        #expect(ByteRanges([3..<3]).ranges.isEmpty)
        #expect(ByteRanges([0..<5, 10..<20]).count == 15)
    }

    @Test("random insertions equal those into a set of bytes")
    func random() {
        var random = SeededNumbers(seed: 42)
        for _ in 0..<500 {
            var ranges = ByteRanges()
            var bytes = Set<Int64>()
            for _ in 0..<random.next(upTo: 12) {
                let start = Int64(random.next(upTo: 40))
                let end = start + Int64(random.next(upTo: 12))
                ranges.insert(start..<end)
                bytes.formUnion(start..<end)
            }
            #expect(Set(ranges.ranges.flatMap { Array($0) }) == bytes)
            #expect(ranges.count == Int64(bytes.count))
            #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            let missing = Set(ranges.missing(of: 60).flatMap { Array($0) })
            #expect(missing == Set((0..<60).map { Int64($0) }).subtracting(bytes))
        }
    }

    @Test("the missing range of a representation of unknown length has no end")
    func gaps() {
        #expect(ByteRanges([0..<5, 10..<20]).missing(of: 30) == [5..<10, 20..<30])
        #expect(ByteRanges([0..<30]).missing(of: 30).isEmpty)
        #expect(ByteRanges([0..<5]).missing(of: nil) == [5..<Int64.max])
        #expect(ByteRanges().missing(of: 0).isEmpty)
        #expect(ByteRanges([0..<30]).isWhole(of: 30) && !ByteRanges([0..<31]).isWhole(of: 30))
        #expect(ByteRanges().isWhole(of: 0) && !ByteRanges([1..<30]).isWhole(of: 30))
    }

    @Test(
        "a file is divided into about equal parts, none too small",
        arguments: [
            (100, 4, 10, [0..<25, 25..<50, 50..<75, 75..<100]), (100, 4, 40, [0..<40, 40..<100]),
            (79, 4, 40, [0..<79]), (80, 4, 40, [0..<40, 40..<80]), (100, 1, 10, [0..<100]), (100, 0, 10, [0..<100]),
            (101, 2, 10, [0..<51, 51..<101]), (5, 4, 10, [0..<5]), (0, 4, 10, []),
        ] as [(Int64, Int, Int, [Range<Int64>])])
    func dividing(_ total: Int64, _ count: Int, _ smallest: Int, _ expected: [Range<Int64>]) {
        let gaps = total == 0 ? [] : [0..<total]
        #expect(SegmentPlan(dividing: gaps, into: count, smallest: ByteSize(smallest)).segments == expected)
    }

    @Test("a range without a known end is not divided, and the maximum is sixteen segments")
    func bounds() {
        #expect(SegmentPlan(dividing: [5..<Int64.max], into: 4, smallest: 1).segments == [5..<Int64.max])
        #expect(SegmentPlan(dividing: [0..<1_000_000], into: 100, smallest: 1).segments.count == 16)
    }

    @Test("the largest possible length is divided without a trap")
    func largest() {
        let plan = SegmentPlan(dividing: [1..<Int64.max - 1], into: 4, smallest: 1)
        #expect(plan.segments.count == 4 && ByteRanges(plan.segments).ranges == [1..<Int64.max - 1])
    }

    @Test("several gaps are divided one by one, in order")
    func severalGaps() {
        let plan = SegmentPlan(dividing: [10..<50, 60..<70, 80..<200], into: 3, smallest: 10)
        #expect(ByteRanges(plan.segments).ranges == [10..<50, 60..<70, 80..<200])
        #expect(plan.segments == plan.segments.sorted { $0.lowerBound < $1.lowerBound })
    }
}
