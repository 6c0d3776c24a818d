import Testing

@testable import Curlew

@Suite("A line of bytes under a limit of rate")
struct RateLineTests {
    private let start = Instant.now

    private func seconds(_ count: Double) -> Instant { start.advanced(by: Int64(count * 1e9)) }

    @Test(
        "lets no more pass than the rate and a tenth of a second, and no less",
        arguments: [1, 7, 1000, 65_536, 1_000_000, 123_456_789])
    func pace(_ rate: Int) {
        var random = SystemRandomNumberGenerator()
        var line = RateLine(ByteCount(rate), at: start)
        var now = start
        var passed = 0
        let largest = max(1, min(16_384, rate))
        for _ in 0..<2000 {
            let count = Int.random(in: 1...largest, using: &random)
            now = max(now, line.reserve(count, at: now))
            let elapsed = Double(now.nanoseconds - start.nanoseconds) / 1e9
            #expect(Double(passed) <= Double(rate) * (elapsed + 0.1) + 1)
            passed += count
            // Costs are rounded up to a nanosecond each.
            #expect(Double(passed) >= Double(rate) * (elapsed + 0.1) * 0.999 - Double(rate) * 2e-6 || elapsed == 0)
        }
    }

    @Test("time in which nothing was asked for is not saved up")
    func idle() {
        var line = RateLine(1000, at: start)
        #expect(line.reserve(1000, at: seconds(100)) == seconds(100))
        #expect(line.reserve(1000, at: seconds(100)) == seconds(100.9))
    }

    @Test(
        "less than a byte a second is a byte a second, and the largest rate holds nothing back", arguments: [0, -5, 1])
    func extremes(_ rate: Int) {
        var slow = RateLine(ByteCount(rate), at: start)
        #expect(slow.step == 1)
        #expect(slow.reserve(1, at: start) == start)
        #expect(slow.reserve(1, at: start) == seconds(0.9))
        var fast = RateLine(ByteCount(Int.max), at: start)
        for _ in 0..<1000 { #expect(fast.reserve(1 << 30, at: start) == start) }
        #expect(fast.step == RateLine.largestStep)
        var overflowing = RateLine(1, at: start)
        #expect(overflowing.reserve(.max, at: start) == start)
        #expect(overflowing.reserve(1, at: start) > seconds(1e9))
    }

    @Test("a change of rate keeps what is owed, in bytes")
    func change() {
        var line = RateLine(1, at: start)
        _ = line.reserve(16_384, at: start)
        line.change(to: 163_840, at: start)
        // 16,384 bytes at ten times as many a second are a tenth of a second, which may be spent ahead.
        #expect(line.reserve(163_840, at: start) == start)
        line.change(to: 1, at: start)
        let moment = line.reserve(1, at: start)
        #expect(moment > seconds(180_000) && moment < seconds(180_300))
        line.change(to: ByteCount(Int.max), at: start)
        #expect(line.reserve(1, at: start) == start)
    }

    @Test("what was let in and did not pass is given back")
    func giveBack() {
        var line = RateLine(10, at: start)
        _ = line.reserve(100, at: start)
        line.giveBack(100)
        #expect(line.reserve(1, at: start) == start)
    }

    @Test("those who share a limit take turns, whatever the order in which they come")
    func fair() {
        let rate = SharedRate(RateLimit(receiving: 1_000_000))
        // What may pass at once is gone.
        _ = rate.reserve(100_000, .receiving, at: start)
        var moments = (0..<50).map { _ in start }
        var counts = Array(repeating: 0, count: 50)
        var now = start
        while now < seconds(10) {
            // The one whose moment is next passes, and asks again at once.
            let index = moments.indices.min { moments[$0] < moments[$1] } ?? 0
            now = max(now, moments[index])
            counts[index] += 1
            moments[index] = rate.reserve(10_000, .receiving, at: now)
        }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2)
        let total = counts.reduce(0, +) * 10_000
        // Ten seconds, a tenth of one ahead, and the first piece of each.
        #expect(total >= 9_900_000)
        #expect(total <= 10_650_000)
        #expect(rate.reserve(.max, .sending, at: now) == now)
    }
}
