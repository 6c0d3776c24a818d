/// The faults that a server still has to commit, those that it has committed, and how many exchanges it has begun.
final class FaultScript: Sendable {
    private struct State: Sendable {
        var waiting: [(fault: Fault, target: Fault.Target)] = []
        var committed: [CommittedFault] = []
        var missed: [Fault] = []
        var exchanges = 0
    }

    /// The faults that are remembered after they have happened or passed.
    private static let memory = 65_536

    private let ground: FaultGround
    private let state = Watched(State())

    init(_ ground: FaultGround) {
        self.ground = ground
    }

    func inject(_ fault: Fault, at target: Fault.Target) throws {
        try self.ground.check(fault)
        self.state.update { $0.waiting.append((fault, target)) }
    }

    func removeAll() {
        self.state.update { $0.waiting = [] }
    }

    var committed: [CommittedFault] { self.state.update { $0.committed } }

    func waitForCommitted(_ count: Int) async throws {
        try await self.state.wait { $0.committed.count >= count }
    }

    /// Notes that a fault begins.
    func commit(_ fault: CommittedFault) {
        self.state.update { if $0.committed.count < Self.memory { $0.committed.append(fault) } }
    }

    /// Notes that an exchange has passed the moments of its faults without them.
    func miss(_ faults: [Fault]) {
        self.state.update { if $0.missed.count < Self.memory { $0.missed += faults } }
    }

    /// What should have happened by now and has not, in words.
    var complaints: [String] {
        self.state.update { state in
            let waiting = state.waiting.filter { $0.target.isOnce }.map { "\($0.fault) found nobody" }
            return waiting + state.missed.map { "\($0) found no such moment in its exchange" }
        }
    }

    /// The faults that meet a new connection.
    func claim(connection index: Int) -> [Fault] {
        self.state.update { state in
            Self.claim(&state.waiting) { fault, target in
                guard fault.trigger.isOfConnection else { return false }
                switch target {
                case .next, .every: return true
                case .connection(let wanted): return wanted == index
                case .exchange, .exchangeOn: return false
                }
            }
        }
    }

    /// The faults that meet a new exchange.
    func claim(exchange index: Int, onConnection connection: Int) -> [Fault] {
        self.state.update { state in
            let number = state.exchanges
            state.exchanges += 1
            return Self.claim(&state.waiting) { fault, target in
                guard !fault.trigger.isOfConnection else { return false }
                switch target {
                case .next, .every: return true
                case .connection(let wanted): return wanted == connection
                case .exchange(let wanted): return wanted == number
                case .exchangeOn(let wanted, let wantedConnection):
                    return wanted == index && wantedConnection == connection
                }
            }
        }
    }

    private static func claim(
        _ faults: inout [(fault: Fault, target: Fault.Target)],
        where meets: (Fault, Fault.Target.Kind) -> Bool
    ) -> [Fault] {
        var claimed: [Fault] = []
        faults.removeAll { fault, target in
            guard meets(fault, target.kind) else { return false }
            claimed.append(fault)
            return target.isOnce
        }
        return claimed
    }
}

extension Fault.Target {
    /// Whether it is done with after it has met somebody.
    var isOnce: Bool {
        switch self.kind {
        case .next, .exchange, .exchangeOn: true
        case .connection, .every: false
        }
    }
}
