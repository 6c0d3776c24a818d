import SeededNumbers

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

/// Calls to a server that degrades and recovers, in simulated time: with or without the limits of a client.
///
/// The same seed gives exactly the same calls. The state machines are those of the links.
struct Simulation {
    /// The parameters of a run. Times are in seconds.
    struct Plan: Sendable {
        var calls = 10_000
        var callsPerSecond = 100.0
        /// The number of requests that the server processes concurrently, and the mean duration of each.
        var places = 20
        var serviceTime = 0.1
        /// The period of degradation, and the number of places in it.
        var degraded = 30.0..<60.0
        var degradedPlaces = 2
        /// The length of the server's own queue; beyond it the server answers 503.
        var serverQueue = 1000
        /// The time limit of a caller's attempt, and the number of attempts.
        var timeout = 2.0
        var attempts = 3
        var seed: UInt64 = 21
        /// The limits of the client; nil for none.
        var limits: Limits?

        init(limits: Limits? = nil) { self.limits = limits }
    }

    struct Limits: Sendable {
        var concurrency = ConcurrencyLimiter.Limit.additive(from: 20, within: 2...100)
        var queue = LoadQueue(capacity: 50, timeout: .seconds(1))
        var breaker: CircuitBreaker.Policy? = CircuitBreaker.Policy(
            failureRate: 0.5, minimumCalls: 20, window: .seconds(5), firstWait: .seconds(1), longestWait: .seconds(4))

        init() {}
    }

    /// The results of one second of the run.
    struct Second: Sendable, Equatable {
        var successes = 0
        var failures = 0
        /// The attempts that reached the server.
        var sent = 0
        /// The total time that callers waited for successes and failures.
        var waited = 0.0
    }

    private enum Event {
        case arrival
        case attempt(Call)
        /// The server has finished a request, even if its caller is gone.
        case served(Int)
        case timeout(Int)
        case turnTimeout(UInt64)
    }

    private final class Call {
        let start: Int64
        var attempts = 0
        init(start: Int64) { self.start = start }
    }

    /// A request that the client has sent, and awaits until its time limit.
    private struct Attempt {
        let call: Call
        let start: Int64
        let permit: CircuitMachine.Permit?
    }

    private let plan: Plan
    private var random: SeededNumbers
    private var events = EventHeap<Event>()
    private var now: Int64 = 0
    private var arrived = 0
    private(set) var seconds: [Second] = []

    private var attempts: [Int: Attempt] = [:]
    private var lastAttempt = 0
    private var waiting: [UInt64: (Call, CircuitMachine.Permit?)] = [:]
    private var concurrency: ConcurrencyMachine?
    private var circuit: CircuitMachine?

    /// The requests at the server, the first `busy` of them in progress.
    private var serverQueue: [Int] = []
    private var busy = 0

    init(_ plan: Plan) {
        self.plan = plan
        random = SeededNumbers(seed: plan.seed)
        concurrency = plan.limits.map { ConcurrencyMachine($0.concurrency, $0.queue) }
        circuit = plan.limits?.breaker.map { CircuitMachine($0) }
    }

    /// Runs to the end of the last call.
    static func run(_ plan: Plan) -> [Second] {
        var simulation = Simulation(plan)
        simulation.run()
        return simulation.seconds
    }

    private mutating func run() {
        events.insert(.arrival, at: 0)
        while let (time, event) = events.next() {
            now = time
            switch event {
            case .arrival: arrive()
            case .attempt(let call): attempt(call)
            case .served(let number): served(number)
            case .timeout(let number): timeOut(number)
            case .turnTimeout(let number): timeOutTurn(number)
            }
        }
    }

    private func nanoseconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

    /// A random value around a mean, from half of it to one and a half times it.
    private mutating func about(_ seconds: Double) -> Int64 {
        nanoseconds(seconds * (0.5 + Double(random.next() >> 11) / Double(1 << 53)))
    }

    private mutating func note(_ change: (inout Second) -> Void) {
        let second = Int(now / 1_000_000_000)
        while seconds.count <= second { seconds.append(Second()) }
        change(&seconds[second])
    }

    // MARK: The client

    private mutating func arrive() {
        arrived += 1
        if arrived < plan.calls { events.insert(.arrival, at: now + about(1 / plan.callsPerSecond)) }
        attempt(Call(start: now))
    }

    private mutating func attempt(_ call: Call) {
        call.attempts += 1
        var permit: CircuitMachine.Permit?
        if circuit != nil {
            permit = circuit?.ask(at: now).permit
            // A local refusal is not retried, as in Retry.
            if permit == nil { return end(call, isSuccess: false) }
        }
        guard concurrency != nil else { return send(call, permit) }
        switch concurrency?.arrive(.normal, remaining: nil, now: now) {
        case .goes: send(call, permit)
        case .waits(let number, let dropped):
            if let dropped { refuse(dropped) }
            waiting[number] = (call, permit)
            let timeout = plan.limits?.queue.timeout ?? .zero
            events.insert(.turnTimeout(number), at: now + timeout.nanosecondsClamped)
        case .isRefused, .isHopeless, nil:
            takeCircuit(.none, permit, start: now)
            end(call, isSuccess: false)
        }
    }

    private mutating func timeOutTurn(_ number: UInt64) {
        if concurrency?.leave(number) == true { refuse(number) }
    }

    private mutating func refuse(_ number: UInt64) {
        guard let (call, permit) = waiting.removeValue(forKey: number) else { return }
        takeCircuit(.none, permit, start: now)
        end(call, isSuccess: false)
    }

    private mutating func takeCircuit(_ result: CircuitMachine.Result, _ permit: CircuitMachine.Permit?, start: Int64) {
        guard let permit else { return }
        _ = circuit?.take(result, permit, duration: now - start, at: now)
    }

    private mutating func send(_ call: Call, _ permit: CircuitMachine.Permit?) {
        lastAttempt += 1
        attempts[lastAttempt] = Attempt(call: call, start: now, permit: permit)
        note { $0.sent += 1 }
        events.insert(.timeout(lastAttempt), at: now + nanoseconds(plan.timeout))
        receive(lastAttempt)
    }

    private mutating func timeOut(_ number: Int) { finish(number, isSuccess: false) }

    private mutating func finish(_ number: Int, isSuccess: Bool) {
        guard let attempt = attempts.removeValue(forKey: number) else { return }
        takeCircuit(isSuccess ? .success : .failure, attempt.permit, start: attempt.start)
        let held = now - attempt.start
        concurrency?.take(AdaptiveLimit.Sample(latency: held, isOverload: !isSuccess), now: now)
        concurrency?.end(held: held)
        if isSuccess || attempt.call.attempts >= plan.attempts {
            end(attempt.call, isSuccess: isSuccess)
        } else {
            let backoff = 0.2 * Double(1 << (attempt.call.attempts - 1))
            events.insert(.attempt(attempt.call), at: now + about(backoff))
        }
        while let next = concurrency?.next() {
            if let (call, permit) = waiting.removeValue(forKey: next) { send(call, permit) }
        }
    }

    private mutating func end(_ call: Call, isSuccess: Bool) {
        let waited = Double(now - call.start) / 1e9
        note { second in
            if isSuccess { second.successes += 1 } else { second.failures += 1 }
            second.waited += waited
        }
    }

    // MARK: The server

    private var places: Int {
        plan.degraded.contains(Double(now) / 1e9) ? plan.degradedPlaces : plan.places
    }

    private mutating func receive(_ number: Int) {
        guard serverQueue.count < plan.serverQueue else { return finish(number, isSuccess: false) }
        serverQueue.append(number)
        work()
    }

    private mutating func work() {
        while busy < places, let number = serverQueue.first {
            serverQueue.removeFirst()
            busy += 1
            events.insert(.served(number), at: now + about(plan.serviceTime))
        }
    }

    private mutating func served(_ number: Int) {
        busy -= 1
        // The work was in vain if no caller waits any more.
        finish(number, isSuccess: true)
        work()
    }
}

/// The future events, earliest first; simultaneous ones in the order of insertion.
private struct EventHeap<Event> {
    private var entries: [(time: Int64, number: Int, event: Event)] = []
    private var last = 0

    mutating func insert(_ event: Event, at time: Int64) {
        last += 1
        entries.append((time, last, event))
        var child = entries.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (Int64, Event)? {
        guard let first = entries.first else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { break }
            entries.swapAt(least, parent)
            parent = least
        }
        return (first.time, first.event)
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (entries[left].time, entries[left].number) < (entries[right].time, entries[right].number)
    }
}
