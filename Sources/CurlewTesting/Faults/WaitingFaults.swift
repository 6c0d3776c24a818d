#if TestKit
/// A fault that an exchange or a connection has taken, to commit it when its moment comes.
struct ClaimedFault: Sendable, Hashable {
    let fault: Fault
    /// True if nobody else will meet it.
    let isOnce: Bool
}

/// The faults that wait for somebody to meet, in the order in which they were injected. A value, without any waiting.
struct WaitingFaults: Sendable {
    private struct Waiting: Sendable {
        let fault: Fault
        let target: Fault.Target
        var hasMet = false
    }

    private var waiting: [Waiting] = []

    mutating func append(_ fault: Fault, at target: Fault.Target) {
        self.waiting.append(Waiting(fault: fault, target: target))
    }

    /// Those that have met nobody.
    var unmet: [Fault] { self.waiting.filter { !$0.hasMet }.map(\.fault) }

    /// The faults that meet a new connection, those first that are to happen first.
    mutating func claim(connection index: Int) -> [ClaimedFault] {
        self.claim { fault, target in
            guard fault.trigger.isOfConnection else { return false }
            switch target {
            case .next, .every: return true
            case .connection(let wanted): return wanted == index
            case .exchange, .exchangeOn: return false
            }
        }
    }

    /// The faults that meet a new exchange, of those with the same moment the one first that is to happen first.
    ///
    /// - Parameters:
    ///   - number: The exchange's number over all connections.
    ///   - index: The exchange's number on its connection.
    ///   - connection: The connection's number.
    mutating func claim(exchange number: Int, index: Int, onConnection connection: Int) -> [ClaimedFault] {
        self.claim { fault, target in
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

    private mutating func claim(where meets: (Fault, Fault.Target.Kind) -> Bool) -> [ClaimedFault] {
        // One end is enough: a fault for the next comer that would end what another one ends already waits for a later
        // comer. Those that name whom they meet have no other, and go before.
        var isEnded = self.waiting.contains {
            $0.target.isOnce && $0.target != .next && $0.fault.isEnding && meets($0.fault, $0.target.kind)
        }
        var claimed: [ClaimedFault] = []
        for (index, one) in self.waiting.enumerated() where meets(one.fault, one.target.kind) {
            if one.target == .next && one.fault.isEnding {
                if isEnded { continue }
                isEnded = true
            }
            claimed.append(ClaimedFault(fault: one.fault, isOnce: one.target.isOnce))
            self.waiting[index].hasMet = true
        }
        self.waiting.removeAll { $0.hasMet && $0.target.isOnce }
        // What ends everybody lets pass what was meant for this one.
        let isLast = { (one: ClaimedFault) in one.fault.isEnding && !one.isOnce }
        return claimed.filter { !isLast($0) } + claimed.filter(isLast)
    }
}
#endif
