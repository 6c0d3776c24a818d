/// The faults that a server still has to commit, and how many exchanges it has begun.
final class FaultScript: Sendable {
    private struct State: Sendable {
        var faults: [(fault: Fault, target: Fault.Target)] = []
        var exchanges = 0
    }

    private let state = Watched(State())

    func inject(_ fault: Fault, at target: Fault.Target) {
        self.state.update { $0.faults.append((fault, target)) }
    }

    func removeAll() {
        self.state.update { $0.faults = [] }
    }

    /// The faults that meet a new connection.
    func claim(connection index: Int) -> [Fault] {
        self.state.update { state in
            Self.claim(&state.faults) { fault, target in
                guard fault.trigger.isOfConnection else { return false }
                switch target {
                case .next, .every: return true
                case .connection(let wanted): return wanted == index
                case .exchange: return false
                }
            }
        }
    }

    /// The faults that meet a new exchange.
    func claimExchange(onConnection index: Int) -> [Fault] {
        self.state.update { state in
            let number = state.exchanges
            state.exchanges += 1
            return Self.claim(&state.faults) { fault, target in
                guard !fault.trigger.isOfConnection else { return false }
                switch target {
                case .next, .every: return true
                case .connection(let wanted): return wanted == index
                case .exchange(let wanted): return wanted == number
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
            switch target.kind {
            case .next, .exchange: return true
            case .connection, .every: return false
            }
        }
        return claimed
    }
}
