import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The state machine of a request rate")
struct RateMachineTests {
    private let second: Int64 = 1_000_000_000

    private func machine(_ rate: RequestRateLimiter.Rate?, timeout: Duration = .seconds(1000)) -> RateMachine {
        RateMachine(rate, LoadQueue(timeout: timeout), now: 0)
    }

    private func number(_ arrival: RateMachine.Arrival) -> UInt64? {
        if case .waits(let number, _) = arrival { number } else { nil }
    }

    @Test("a burst is sent at once, and further requests follow at the rate")
    func bucket() {
        var machine = machine(.perSecond(10, burst: 3))
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0)) }
        let waiting = number(machine.arrive(.normal, remaining: nil, now: 0))
        #expect(waiting != nil)
        #expect(machine.wait(at: 0) == second / 10)
        #expect(machine.next(at: second / 10 - 1)?.number == nil)
        #expect(machine.next(at: second / 10)?.number == waiting)
        // A long pause restores the burst of three requests, and no more.
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 100 * second) == .goes(0)) }
        #expect(number(machine.arrive(.normal, remaining: nil, now: 100 * second)) != nil)
    }

    @Test("a request with too long a wait, or with too little time, is refused at once")
    func tooLate() {
        var machine = machine(.perSecond(1, burst: 1), timeout: .seconds(2))
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        #expect(machine.arrive(.normal, remaining: second / 2, now: 0) == .isHopeless)
        #expect(number(machine.arrive(.normal, remaining: 2 * second, now: 0)) != nil)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) != nil)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .isTooLate(wait: 3 * second))
        // A critical request waits for no other one, so it is not too late.
        #expect(number(machine.arrive(.critical, remaining: nil, now: 0)) != nil)
    }

    @Test("a 429 stops all requests for its Retry-After, and then a single request is sent first")
    func retryAfter() {
        var machine = machine(nil)
        for _ in 0..<5 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0)) }
        for _ in 0..<5 { machine.take(.init(status: 429, retryAfter: .seconds(7)), of: 0, now: second) }
        let numbers = (0..<10).map { _ in number(machine.arrive(.normal, remaining: nil, now: second)) }
        #expect(machine.wait(at: second) == 7 * second)
        #expect(machine.next(at: 8 * second - 1)?.number == nil)
        let first = machine.next(at: 8 * second)
        #expect(first?.number == numbers[0] && first?.period == 1)
        #expect(machine.next(at: 8 * second)?.number == nil)
        #expect(machine.wait(at: 8 * second) == 30 * second)
        machine.take(.init(status: 200), of: 1, now: 8 * second)
        #expect(machine.next(at: 8 * second)?.number == numbers[1])
        #expect(machine.next(at: 8 * second)?.number == numbers[2])
        #expect(machine.next(at: 8 * second)?.number == nil)
    }

    @Test("unanswered requests do not delay others after a refusal")
    func longPolls() {
        var machine = machine(nil)
        for _ in 0..<20 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0)) }
        machine.take(.init(status: 429, retryAfter: .seconds(1)), of: 0, now: 0)
        #expect(machine.arrive(.normal, remaining: nil, now: second) == .goes(1))
        machine.take(.init(status: 200), of: 1, now: second)
        for _ in 0..<2 { #expect(machine.arrive(.normal, remaining: nil, now: second) == .goes(1)) }
    }

    @Test("requests that are refused together count as one refusal")
    func burst() {
        var machine = machine(nil)
        for _ in 0..<7 { _ = machine.arrive(.normal, remaining: nil, now: 0) }
        for _ in 0..<7 { machine.take(.init(status: 429), of: 0, now: 0) }
        #expect(machine.wait(at: 0) == second)
    }

    @Test("answers to requests sent before a refusal do not end the cautious phase after it")
    func earlierAnswers() {
        var machine = machine(nil)
        for _ in 0..<50 { _ = machine.arrive(.normal, remaining: nil, now: 0) }
        machine.take(.init(status: 429, retryAfter: .seconds(1)), of: 0, now: 0)
        for _ in 0..<49 { machine.take(.init(status: 200), of: 0, now: 0) }
        #expect(machine.arrive(.normal, remaining: nil, now: second) == .goes(1))
        #expect(number(machine.arrive(.normal, remaining: nil, now: second)) != nil)
        // The earlier refusal still counts, so this one is the second and doubles the wait.
        machine.take(.init(status: 429), of: 1, now: second)
        #expect(machine.wait(at: second) == 2 * second)
    }

    @Test("a request with too long a wait is refused at once, also during the first request after a refusal")
    func tooLateDuringCare() {
        var machine = machine(nil, timeout: .seconds(30))
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.take(.init(status: 429, retryAfter: .seconds(1)), of: 0, now: 0)
        #expect(machine.arrive(.normal, remaining: nil, now: second) == .goes(1))
        let quota = ServerQuota(remaining: 0, reset: .seconds(600))
        _ = machine.arrive(.normal, remaining: nil, now: second)
        machine.take(.init(status: 200, quota: quota), of: 0, now: second)
        #expect(machine.arrive(.normal, remaining: nil, now: second) == .isTooLate(wait: 600 * second))
    }

    @Test("a server that always answers 429 gets ever fewer requests, in the end one a minute")
    func refusalForEver() {
        var machine = machine(nil)
        var now: Int64 = 0
        var waits: [Int64] = []
        for period in 0..<10 {
            #expect(machine.arrive(.normal, remaining: nil, now: now) == .goes(period))
            machine.take(.init(status: 429), of: period, now: now)
            let wait = machine.wait(at: now)
            waits.append(wait / second)
            now += wait
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
        #expect(machine.arrive(.normal, remaining: nil, now: now) == .goes(10))
        machine.take(.init(status: 200), of: 10, now: now)
        #expect(machine.wait(at: now) == 0)
    }

    @Test("repeated refusals with a Retry-After of zero enforce a pause")
    func zero() {
        var machine = machine(nil)
        var now: Int64 = 0
        for period in 0..<5 {
            #expect(machine.arrive(.normal, remaining: nil, now: now) == .goes(period))
            machine.take(.init(status: 429, retryAfter: .zero), of: period, now: now)
            #expect(machine.wait(at: now) == (period == 0 ? 0 : second / 10))
            now += second / 10
        }
    }

    @Test("the longest possible Retry-After is limited to an hour")
    func longBlock() {
        var machine = machine(nil)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.take(.init(status: 503, retryAfter: RetryAfter.longest), of: 0, now: 0)
        #expect(machine.wait(at: 0) == 3600 * second)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .isTooLate(wait: 3600 * second))
    }

    @Test("a 503 without Retry-After does not affect the rate")
    func plain503() {
        var machine = machine(nil)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        machine.take(.init(status: 503), of: 0, now: 0)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0))
    }

    @Test("a used-up server quota stops all requests until its reset, and counts running requests")
    func quota() {
        var machine = machine(nil)
        for _ in 0..<3 { #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0)) }
        machine.take(.init(status: 200, quota: ServerQuota(remaining: 3, reset: .seconds(10))), of: 0, now: 0)
        // The quota leaves three requests, and two requests are still running, so one more is sent.
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0))
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) == 1)
        #expect(machine.wait(at: 0) == 10 * second)
        #expect(machine.next(at: 10 * second - 1)?.number == nil)
        #expect(machine.next(at: 10 * second)?.number == 1)
    }

    @Test("a 429 halves the local rate, which recovers")
    func halving() {
        var machine = machine(.perSecond(10, burst: 1))
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0))
        machine.take(.init(status: 429, retryAfter: .zero), of: 0, now: 0)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 0)) != nil)
        #expect(machine.wait(at: 0) == second / 5)
        #expect(machine.next(at: 10 * second)?.period == 1)
        machine.take(.init(status: 200), of: 1, now: 10 * second)
        #expect(number(machine.arrive(.normal, remaining: nil, now: 10 * second)) != nil)
        #expect(machine.wait(at: 10 * second) == second / 10)
    }

    @Test("a clock that is set back does not prolong a wait, and extreme times do not trap")
    func clockJumps() {
        var machine = machine(.perSecond(10, burst: 1))
        #expect(machine.arrive(.normal, remaining: nil, now: 100 * second) == .goes(0))
        machine.take(.init(status: 429, retryAfter: .seconds(2)), of: 0, now: 100 * second)
        let waiting = number(machine.arrive(.normal, remaining: nil, now: 0))
        #expect(machine.wait(at: 0) == 2 * second)
        #expect(machine.next(at: 2 * second - 1)?.number == nil)
        #expect(machine.next(at: 2 * second)?.number == waiting)
        var other = self.machine(.perSecond(10, burst: 1))
        for moment in [Int64.max, .min, 0, .max] {
            guard case .goes(let period) = other.arrive(.normal, remaining: nil, now: moment) else { continue }
            let quota = ServerQuota(remaining: .max, reset: .seconds(86_400))
            other.take(.init(status: 429, quota: quota), of: period, now: moment)
        }
    }

    @Test(
        "a server's answer only stops requests to this server, not to others of the group",
        arguments: [
            RateMachine.Answer(status: 429, retryAfter: .seconds(900)), RateMachine.Answer(status: 429),
            RateMachine.Answer(status: 503, retryAfter: .seconds(900)),
            RateMachine.Answer(status: 200, quota: ServerQuota(remaining: 0, reset: .seconds(900))),
        ])
    func servers(_ answer: RateMachine.Answer) {
        var machine = machine(.perSecond(10, burst: 5))
        #expect(machine.arrive(.normal, at: "hostile", remaining: nil, now: 0) == .goes(0))
        machine.take(answer, from: "hostile", of: 0, now: 0)
        let stopped = number(machine.arrive(.normal, at: "hostile", remaining: nil, now: 0))
        #expect(stopped != nil)
        for _ in 0..<4 { #expect(machine.arrive(.normal, at: "good", remaining: nil, now: 0) == .goes(0)) }
        // The local rate is common to all servers, and not reduced.
        let limited = number(machine.arrive(.normal, at: "good", remaining: nil, now: 0))
        #expect(machine.wait(at: 0) == second / 10)
        #expect(machine.next(at: second / 10)?.number == limited)
        #expect(machine.next(at: second / 2)?.number == nil)
        #expect(machine.next(at: 900 * second)?.number == stopped)
    }

    @Test("requests for several servers are sent by priority and age")
    func turnsOfServers() {
        var machine = machine(.perSecond(1, burst: 1))
        #expect(machine.arrive(.normal, at: "a", remaining: nil, now: 0) == .goes(0))
        let first = number(machine.arrive(.normal, at: "b", remaining: nil, now: 0))
        let second = number(machine.arrive(.normal, at: "a", remaining: nil, now: 0))
        let urgent = number(machine.arrive(.high, at: "c", remaining: nil, now: 0))
        #expect((1...3).map { machine.next(at: $0 * self.second)?.number } == [urgent, first, second])
        #expect(machine.waiting == 0)
    }

    @Test("requests to another server displace requests to a stopped server from a full queue")
    func fullQueue() {
        var machine = RateMachine(
            .perSecond(10, burst: 1), LoadQueue(capacity: 2, timeout: .seconds(1000)), now: 0)
        #expect(machine.arrive(.normal, at: "hostile", remaining: nil, now: 0) == .goes(0))
        machine.take(.init(status: 429, retryAfter: .seconds(900)), from: "hostile", of: 0, now: 0)
        let stopped = (0..<2).map { _ in number(machine.arrive(.normal, at: "hostile", remaining: nil, now: 0)) }
        #expect(machine.arrive(.normal, at: "hostile", remaining: nil, now: 0) == .isRefused)
        #expect(machine.arrive(.normal, at: "good", remaining: nil, now: 0) == .waits(3, dropping: stopped[0]))
        #expect(machine.arrive(.normal, at: "good", remaining: nil, now: 0) == .waits(4, dropping: stopped[1]))
        #expect(machine.arrive(.normal, at: "good", remaining: nil, now: 0) == .isRefused)
        #expect(machine.waiting == 2)
    }

    @Test(
        "a silent server delays the requests after its refusal by at most 30 seconds")
    func silence() {
        var machine = machine(nil)
        #expect(machine.arrive(.normal, remaining: nil, now: 0) == .goes(0))
        machine.take(.init(status: 429, retryAfter: .seconds(1)), of: 0, now: 0)
        #expect(machine.arrive(.normal, remaining: nil, now: second) == .goes(1))
        let numbers = (0..<2).map { _ in number(machine.arrive(.normal, remaining: nil, now: second)) }
        #expect(machine.next(at: 31 * second - 1)?.number == nil)
        #expect(machine.next(at: 31 * second)?.number == numbers[0])
        #expect(machine.next(at: 31 * second)?.number == nil)
        #expect(machine.next(at: 61 * second)?.number == numbers[1])
    }

    @Test("the number of remembered servers per group is limited, and servers in use are kept")
    func bound() {
        var machine = machine(nil)
        #expect(machine.arrive(.normal, at: "used", remaining: nil, now: 0) == .goes(0))
        for index in 0..<5000 {
            #expect(machine.arrive(.normal, at: "\(index)", remaining: nil, now: 0) == .goes(0))
            machine.take(.init(status: 429, retryAfter: .seconds(900)), from: "\(index)", of: 0, now: 0)
        }
        #expect(machine.serverCount <= LoadScope.groupLimit)
        machine.take(.init(status: 429, retryAfter: .seconds(7)), from: "used", of: 0, now: 0)
        #expect(number(machine.arrive(.normal, at: "used", remaining: nil, now: 0)) != nil)
        #expect(number(machine.arrive(.normal, at: "4999", remaining: nil, now: 0)) != nil)
    }

    @Test("a group is in use while a request runs or waits")
    func use() {
        var machine = machine(nil)
        _ = machine.arrive(.normal, remaining: nil, now: 0)
        #expect(machine.isInUse)
        machine.take(.init(status: 429), of: 0, now: 0)
        #expect(!machine.isInUse)
        #expect(machine.isIdle(at: second - 1) == false)
        #expect(machine.isIdle(at: second) == true)
    }

    @Test("invalid rates are corrected")
    func nonsense() {
        #expect(RequestRateLimiter.Rate(-1, per: .seconds(1)) == RequestRateLimiter.Rate(1, per: .seconds(1)))
        #expect(RequestRateLimiter.Rate(.nan, per: .seconds(-1)).interval == 1000)
        #expect(RequestRateLimiter.Rate(.infinity, per: .seconds(1), burst: -5).burst == 1)
        #expect(RequestRateLimiter.Rate(1, per: .seconds(Int64.max)).interval == 86_400e9)
        #expect(RequestRateLimiter.Rate.perSecond(100).burst == 10)
        #expect(RequestRateLimiter.Rate.perMinute(60).interval == 1e9)
    }
}
