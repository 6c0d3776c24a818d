import HTTPTypes
import Testing

@testable import Curlew

@Suite("The machine of a rate of requests")
struct RateMachineTests {
    private let second: Int64 = 1_000_000_000

    private func machine(_ rate: RequestRateLimiter.Rate?, timeout: Duration = .seconds(1000)) -> RateMachine {
        RateMachine(rate, LoadQueue(timeout: timeout), now: 0)
    }

    private func number(_ arrival: RateMachine.Arrival) -> UInt64? {
        if case .waits(let number, _) = arrival { number } else { nil }
    }

    @Test("a burst goes at once, and then one after the other by the rate")
    func bucket() {
        var machine = machine(.perSecond(10, burst: 3))
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes) }
        let waiting = number(machine.arrive(.normal, remaining: nil, now: 0))
        #expect(waiting != nil)
        #expect(machine.nextTime(at: 0) == second / 10)
        #expect(machine.next(at: second / 10 - 1) == nil)
        #expect(machine.next(at: second / 10) == waiting)
        // A long pause brings the burst back, and no more.
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 100 * second) == .goes) }
        #expect(number(machine.arrive(.normal, remaining: nil, now: 100 * second)) != nil)
    }

    @Test("who would wait for too long is refused at once, and whose call would be over before")
    func tooLate() {
        var machine = machine(.perSecond(1, burst: 1), timeout: .seconds(2))
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        #expect(machine.arrive(.normal, remaining: second / 2, now: 0) == .isHopeless)
        #expect(number(machine.arrive(.normal, remaining: 2 * second, now: 0)) != nil)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) != nil)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .isTooLate(wait: 3 * second))
        // Nobody is ahead of what is critical.
        #expect(number(machine.arrive(.critical, remaining: nil, now: 0)) != nil)
    }

    @Test("a 429 stops all for as long as it says, and lets one go first after that")
    func retryAfter() {
        var machine = machine(nil)
        for _ in 0..<5 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes) }
        for _ in 0..<5 { machine.take(.init(status: 429, retryAfter: .seconds(7)), now: second) }
        let numbers = (0..<10).map { _ in number(machine.arrive(.normal, remaining: nil, now: second)) }
        #expect(machine.nextTime(at: second) == 8 * second)
        #expect(machine.next(at: 8 * second) == numbers[0])
        #expect(machine.next(at: 8 * second) == nil && machine.nextTime(at: 8 * second) == nil)
        machine.take(.init(status: 200), now: 8 * second)
        #expect(machine.next(at: 8 * second) == numbers[1] && machine.next(at: 8 * second) == numbers[2])
        #expect(machine.next(at: 8 * second) == nil)
    }

    @Test("a server that answers 429 for ever is asked ever more seldom, once a minute in the end")
    func refusalForEver() {
        var machine = machine(nil)
        var now: Int64 = 0
        var waits: [Int64] = []
        for _ in 0..<10 {
            #expect(machine.arrive(.normal, remaining: nil, now: now) == .goes)
            machine.take(.init(status: 429), now: now)
            let next = machine.nextTime(at: now) ?? 0
            waits.append((next - now) / second)
            now = next
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
        _ = machine.arrive(.normal, remaining: nil, now: now)
        machine.take(.init(status: 200), now: now)
        #expect(machine.nextTime(at: now) == now)
    }

    @Test("a time of zero does not let a server that refuses be asked without a pause")
    func zero() {
        var machine = machine(nil)
        for step in 1...5 {
            _ = machine.arrive(.normal, remaining: nil, now: 0)
            machine.take(.init(status: 429, retryAfter: .zero), now: 0)
            #expect(machine.nextTime(at: 0) == (step == 1 ? 0 : second / 10))
        }
    }

    @Test("a time as long as a number can say is an hour")
    func longBlock() {
        var machine = machine(nil)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.take(.init(status: 503, retryAfter: RetryAfter.longest), now: 0)
        #expect(machine.nextTime(at: 0) == 3600 * second)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .isTooLate(wait: 3600 * second))
    }

    @Test("a 503 without a time is no word about the rate")
    func plain503() {
        var machine = machine(nil)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.take(.init(status: 503), now: 0)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes)
    }

    @Test("nothing goes once the server's quota is used up, those under way included, until its reset")
    func quota() {
        var machine = machine(nil)
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes) }
        machine.take(.init(status: 200, quota: ServerQuota(remaining: 3, reset: .seconds(10))), now: 0)
        // Two of the three are under way.
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) == 1)
        #expect(machine.nextTime(at: 0) == 10 * second)
        #expect(machine.next(at: 10 * second) == 1)
    }

    @Test("a 429 halves a rate of our own, once for all refused together, and it comes back")
    func halving() {
        var machine = machine(.perSecond(10, burst: 1))
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes)
        machine.take(.init(status: 429, retryAfter: .zero), now: 0)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) != nil)
        #expect(machine.nextTime(at: 0) == second / 5)
        #expect(machine.next(at: 10 * second) != nil)
        machine.take(.init(status: 200), now: 10 * second)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 10 * second)) != nil)
        #expect(machine.nextTime(at: 10 * second).map { $0 - 10 * second } == second / 10)
    }

    @Test("a clock that jumps neither traps nor blocks")
    func clockJumps() {
        var machine = machine(.perSecond(10, burst: 1))
        #expect(machine.arrive(.normal, remaining: nil, now: .max - 1) == .goes)
        machine.take(.init(status: 429), now: .max)
        #expect(machine.nextTime(at: .max) == .max)
        var other = self.machine(.perSecond(10, burst: 1))
        #expect(other.arrive(.normal, remaining: nil, now: 100 * second) == .goes)
        // Back: the bucket waits for the time to come again, a tenth of a second from where it stands.
        #expect(number(other.arrive(.normal, remaining: nil, now: 0)) != nil)
        #expect(other.nextTime(at: 0) == second / 10)
    }

    @Test("rates without sense become ones with sense")
    func nonsense() {
        #expect(RequestRateLimiter.Rate(-1, per: .seconds(1)) == RequestRateLimiter.Rate(1, per: .seconds(1)))
        #expect(RequestRateLimiter.Rate(.nan, per: .seconds(-1)).interval == 1000)
        #expect(RequestRateLimiter.Rate(.infinity, per: .seconds(1), burst: -5).burst == 1)
        #expect(RequestRateLimiter.Rate(1, per: .seconds(Int64.max)).interval == 86_400e9)
        #expect(RequestRateLimiter.Rate.perSecond(100).burst == 10)
        #expect(RequestRateLimiter.Rate.perMinute(60).interval == 1e9)
    }
}
