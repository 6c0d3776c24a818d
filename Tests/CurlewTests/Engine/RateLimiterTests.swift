import SeededNumbers
import Testing

@testable import CurlewCore

@Suite("A token bucket, and a shared limit")
struct TokenBucketTests {
    private let start = Instant.now

    private func seconds(_ count: Double) -> Instant { start.advanced(by: Int64(count * 1e9)) }

    @Test(
        "a token bucket allows the rate and a tenth of a second in advance",
        arguments: [1, 7, 1000, 65_536, 1_000_000, 123_456_789])
    func pace(_ rate: Int) {
        // The rate is the seed, too.
        var random = SeededNumbers(seed: UInt64(rate))
        var bucket = TokenBucket(ByteSize(rate), at: start)
        var now = start
        var passed = 0
        let largest = max(1, min(16_384, rate))
        for _ in 0..<2000 {
            let count = Int.random(in: 1...largest, using: &random)
            now = max(now, bucket.reserve(count, at: now))
            let elapsed = Double(now.nanoseconds - start.nanoseconds) / 1e9
            #expect(Double(passed) <= Double(rate) * (elapsed + 0.1) + 1)
            passed += count
            // Costs are rounded up to a nanosecond each.
            #expect(Double(passed) >= Double(rate) * (elapsed + 0.1) * 0.999 - Double(rate) * 2e-6 || elapsed == 0)
        }
    }

    @Test("a token bucket does not save up unused time")
    func idle() {
        var bucket = TokenBucket(1000, at: start)
        #expect(bucket.reserve(1000, at: seconds(100)) == seconds(100))
        #expect(bucket.reserve(1000, at: seconds(100)) == seconds(100.9))
    }

    @Test(
        "a rate below a byte a second becomes a byte a second, and the largest rate never delays",
        arguments: [0, -5, 1])
    func extremes(_ rate: Int) {
        var slow = TokenBucket(ByteSize(rate), at: start)
        #expect(slow.step == 1)
        #expect(slow.reserve(1, at: start) == start)
        #expect(slow.reserve(1, at: start) == seconds(0.9))
        var fast = TokenBucket(ByteSize(Int.max), at: start)
        for _ in 0..<1000 { #expect(fast.reserve(1 << 30, at: start) == start) }
        #expect(fast.step == TokenBucket.largestStep)
        var overflowing = TokenBucket(1, at: start)
        #expect(overflowing.reserve(.max, at: start) == start)
        #expect(overflowing.reserve(1, at: start) > seconds(1e9))
    }

    @Test("a change of the rate keeps the debt of a token bucket in bytes")
    func change() {
        var bucket = TokenBucket(1, at: start)
        _ = bucket.reserve(16_384, at: start)
        bucket.change(to: 163_840, at: start)
        // The debt of 16,384 bytes is a tenth of a second at the new rate, which may be used in advance.
        #expect(bucket.reserve(163_840, at: start) == start)
        bucket.change(to: 1, at: start)
        let moment = bucket.reserve(1, at: start)
        #expect(moment > seconds(180_000) && moment < seconds(180_300))
        bucket.change(to: ByteSize(Int.max), at: start)
        #expect(bucket.reserve(1, at: start) == start)
    }

    @Test("reserved bytes that were not sent are returned to the token bucket")
    func giveBack() {
        var bucket = TokenBucket(10, at: start)
        _ = bucket.reserve(100, at: start)
        bucket.giveBack(100)
        #expect(bucket.reserve(1, at: start) == start)
    }

    @Test("transfers with a shared limit get equal parts, in any order of requests")
    func fair() {
        let rate = SharedRate(RateLimit(receiving: 1_000_000))
        // The initial allowance is used up.
        _ = rate.reserve(100_000, .receiving, at: start)
        var moments = (0..<50).map { _ in start }
        var counts = Array(repeating: 0, count: 50)
        var now = start
        while now < seconds(10) {
            // The transfer with the earliest moment gets its bytes, and reserves the next bytes at once.
            let index = moments.indices.min { moments[$0] < moments[$1] } ?? 0
            now = max(now, moments[index])
            counts[index] += 1
            moments[index] = rate.reserve(10_000, .receiving, at: now)
        }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2)
        let total = counts.reduce(0, +) * 10_000
        // The total contains the bytes of ten seconds, a tenth of a second in advance, and the first piece of each
        // transfer.
        #expect(total >= 9_900_000)
        #expect(total <= 10_650_000)
        #expect(rate.reserve(.max, .sending, at: now) == now)
    }
}

@Suite("The rate limiter of a transfer", .timeLimit(.minutes(1)))
struct RateLimiterTests {
    /// Runs a closure on a loop, like a limiter.
    private func onLoop<Result: Sendable>(_ body: @escaping @Sendable (LoopCore) -> Result) async throws -> Result {
        let loop = try CurlewEventLoop(name: "curlew-test")
        return await withCheckedContinuation { done in
            loop.core.execute { done.resume(returning: body(loop.core)) }
        }
    }

    @Test("a limiter allows the minimum of its own and the shared limit, separately for each direction")
    func both() async throws {
        let (sent, received) = try await onLoop { core in
            let shared = SharedRate(RateLimit(sending: 1000, receiving: 1_000_000))
            let limiter = RateLimiter(core: core, limit: RateLimit(receiving: 1000), shared: shared) { _ in }
            // A tenth of a second's bytes are allowed, and at most as many in advance, because the shared limit may lag
            // behind the loop's clock.
            let sent = (0..<3).map { _ in limiter.allowance(for: 5000, .sending) }
            let received = [100, 100, 1].map { limiter.admits($0, .receiving) }
            limiter.release()
            return (sent, received)
        }
        #expect(sent.first == 100 && sent.last == 0)
        #expect(received == [true, true, false])
    }

    @Test("an unused allowance is available the next time, and a direction without a limit never waits")
    func unused() async throws {
        let (sent, isFree) = try await onLoop { core in
            let limiter = RateLimiter(core: core, limit: RateLimit(sending: 1000), shared: nil) { _ in }
            var sent = [limiter.allowance(for: 5000, .sending)]
            limiter.keep(40, .sending)
            sent.append(limiter.allowance(for: 5000, .sending))
            let isFree = limiter.admits(1 << 30, .receiving)
            limiter.release()
            return (sent, isFree)
        }
        #expect(sent == [100, 40])
        #expect(isFree)
    }

    @Test("a limiter calls back when bytes may pass again")
    func reopening() async throws {
        let loop = try CurlewEventLoop(name: "curlew-test")
        let direction = await withCheckedContinuation { done in
            loop.core.execute {
                let kept = Guarded<RateLimiter?>(nil)
                let limiter = RateLimiter(core: loop.core, limit: RateLimit(sending: 100), shared: nil) { direction in
                    kept.withLock { $0 = nil }
                    done.resume(returning: direction)
                }
                let allowed = (0..<3).map { _ in limiter.allowance(for: 10, .sending) }
                #expect(allowed == [10, 10, 0])
                kept.withLock { $0 = limiter }
            }
        }
        #expect(direction == .sending)
    }

    @Test("a removed limit returns its reservation of the shared limit")
    func lifted() async throws {
        let wait = try await onLoop { core in
            let shared = SharedRate(RateLimit(sending: 1000))
            let limiter = RateLimiter(core: core, limit: .none, shared: shared) { _ in }
            for _ in 0..<3 { _ = limiter.allowance(for: 100, .sending) }
            limiter.change(limit: .none, shared: nil)
            guard limiter.admits(1 << 20, .sending) else { return Duration.seconds(100) }
            return core.now.duration(to: shared.reserve(1, .sending, at: core.now))
        }
        // Only the 200 passed bytes are a debt, of which 100 are allowed.
        #expect(wait <= .milliseconds(110))
    }
}
