#if TestKit
/// A fault that an exchange or a connection has claimed, to commit it when its moment comes.
struct ClaimedFault: Sendable, Hashable {
    let fault: Fault
    /// True if the fault hits no other exchange or connection.
    let isOnce: Bool
}

/// The faults that no exchange or connection has claimed yet, in injection order. A plain value that never suspends.
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

    /// The faults that have hit no exchange and no connection.
    var unmet: [Fault] { self.waiting.filter { !$0.hasMet }.map(\.fault) }

    /// The faults that hit a new connection, in the order in which they happen.
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

    /// The faults that hit a new exchange; faults with the same moment are in the order in which they happen.
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
        // An exchange or a connection ends only once. A `.next` fault that would end it a second time waits for a later
        // one. A fault with an explicit target has no other chance, so it takes precedence.
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
        // A recurring fault that ends the exchange comes last, so that faults meant for this exchange happen first.
        let isLast = { (one: ClaimedFault) in one.fault.isEnding && !one.isOnce }
        return claimed.filter { !isLast($0) } + claimed.filter(isLast)
    }
}
#endif
