import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The state machine of a concurrency limit")
struct ConcurrencyMachineTests {
    private let second: Int64 = 1_000_000_000

    private func machine(_ limit: Int, _ queue: LoadQueue = LoadQueue()) -> ConcurrencyMachine {
        ConcurrencyMachine(.fixed(limit), queue)
    }

    @Test("requests up to the limit start at once, and the others take released slots")
    func places() {
        var machine = machine(2)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .waits(1, dropping: nil))
        #expect(machine.next() == nil)
        machine.end(held: second)
        #expect(machine.next() == 1 && machine.inFlight == 2 && machine.waiting == 0)
    }

    @Test("a newcomer does not overtake a waiting request, even if a slot is free")
    func noOvertaking() {
        var machine = machine(1)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.end(held: nil)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .waits(2, dropping: nil))
        #expect(machine.next() == 1)
    }

    @Test("a full queue refuses the newcomer, or drops the oldest if configured")
    func fullQueue() {
        var refusing = machine(1, LoadQueue(capacity: 1))
        var dropping = machine(1, LoadQueue(capacity: 1, dropsOldest: true))
        for _ in 0..<2 {
            _ = refusing.arrive(.normal, remaining: nil, now: 0)
            _ = dropping.arrive(.normal, remaining: nil, now: 0)
        }
        #expect(refusing.arrive(.critical, remaining: nil, now: 0) == .isRefused)
        #expect(dropping.arrive(.low, remaining: nil, now: 0) == .isRefused)
        #expect(dropping.arrive(.normal, remaining: nil, now: 0) == .waits(2, dropping: 1))
    }

    @Test("a call is hopeless if its time is shorter than the fastest answer plus the queue before it")
    func hopeless() {
        var machine = machine(1)
        for _ in 0..<10 {
            #expect(machine.arrive(.normal, remaining: 1, now: 0) == .goes)
            machine.take(AdaptiveLimit.Sample(latency: second, isOverload: false), now: 0)
            machine.end(held: 2 * second)
        }
        #expect(machine.arrive(.normal, remaining: second / 2, now: 0) == .isHopeless)
        #expect(machine.arrive(.normal, remaining: second, now: 0) == .goes)
        // The request needs three seconds: two until the running request ends, and one for its own answer.
        #expect(machine.arrive(.normal, remaining: 3 * second - 1, now: 0) == .isHopeless)
        #expect(machine.arrive(.normal, remaining: 3 * second, now: 0) == .waits(1, dropping: nil))
    }

    @Test("an old latency sample expires, so that hopeless calls are sent again")
    func forgetting() {
        var machine = machine(1)
        for _ in 0..<10 {
            _ = machine.arrive(.normal, remaining: nil, now: 0)
            machine.take(AdaptiveLimit.Sample(latency: second, isOverload: false), now: 0)
            machine.end(held: second)
        }
        #expect(machine.arrive(.normal, remaining: 1, now: 9 * second) == .isHopeless)
        #expect(machine.arrive(.normal, remaining: 1, now: 21 * second) == .goes)
    }

    @Test("an additive limit of n grows by one after n answers, and shrinks once per overload")
    func additive() {
        var limit = AdaptiveLimit(.additive(from: 10, within: 2...12))
        for _ in 0..<11 { limit.take(.init(latency: 1, isOverload: false), inFlight: 10, now: 0) }
        #expect(limit.current == 11)
        for _ in 0..<100 { limit.take(.init(latency: 1, isOverload: false), inFlight: 11, now: 0) }
        #expect(limit.current == 12)
        for _ in 0..<50 { limit.take(.init(latency: 1, isOverload: true), inFlight: 12, now: second) }
        #expect(limit.current == 10)
        // Requests sent together that are refused one after another count as one overload.
        for step in 1...40 {
            let now = second + Int64(step) * second / 20
            limit.take(.init(latency: now - second / 2, isOverload: true), inFlight: 12, now: now)
        }
        #expect(limit.current == 10)
        for step in 10..<110 {
            limit.take(.init(latency: 1, isOverload: true), inFlight: 12, now: Int64(step) * second)
        }
        #expect(limit.current == 2)
    }

    @Test("an unused limit does not grow")
    func unused() {
        var limits = [AdaptiveLimit(.additive(from: 10)), AdaptiveLimit(.gradient(from: 10))]
        for index in limits.indices {
            for _ in 0..<1000 { limits[index].take(.init(latency: 1000, isOverload: false), inFlight: 1, now: 0) }
            #expect(limits[index].current == 10)
        }
    }

    @Test("a gradient limit grows while latencies are equal, and shrinks while they rise")
    func gradient() {
        var limit = AdaptiveLimit(.gradient(from: 10, within: 1...50))
        for _ in 0..<200 { limit.take(.init(latency: 100, isOverload: false), inFlight: 50, now: 0) }
        #expect(limit.current == 50)
        for _ in 0..<30 { limit.take(.init(latency: 1000, isOverload: false), inFlight: 50, now: 0) }
        #expect(limit.current < 20)
        for _ in 0..<1000 { limit.take(.init(latency: 100, isOverload: false), inFlight: 50, now: 0) }
        #expect(limit.current == 50)
    }

    @Test("samples from a jumping clock do not trap")
    func clockJumps() {
        var limits = [AdaptiveLimit(.additive(from: 10)), AdaptiveLimit(.gradient(from: 10))]
        var machine = machine(1)
        for index in limits.indices {
            for moment in [Int64.max, .min, 0] {
                for isOverload in [false, true] {
                    limits[index].take(.init(latency: .max, isOverload: isOverload), inFlight: 10, now: moment)
                }
            }
            #expect(limits[index].current >= 1)
        }
        for moment in [Int64.max, 0, .max] {
            #expect(machine.arrive(.normal, remaining: nil, now: moment) == .goes)
            machine.take(.init(latency: .max, isOverload: false), now: moment)
            machine.end(held: .max)
        }
    }

    @Test("invalid bounds and start values are corrected")
    func bounds() {
        #expect(AdaptiveLimit(.fixed(-5)).current == 1)
        #expect(AdaptiveLimit(.fixed(.max)).current == ConcurrencyLimiter.Limit.largest)
        #expect(
            AdaptiveLimit(.additive(from: .max, within: 1...Int.max)).current == ConcurrencyLimiter.Limit.largest)
        #expect(AdaptiveLimit(.additive(from: 1000, within: -3...10)).current == 10)
        #expect(AdaptiveLimit(.gradient(from: -1, within: -3...0)).current == 1)
    }
}
