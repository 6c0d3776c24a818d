#if TestKit
/// The pending and the committed faults of a server, and the number of its exchanges.
final class FaultScript: Sendable {
    /// The reason why a claimed fault did not happen.
    enum Miss: Sendable {
        /// The moment of the fault was never reached: the body was too short, or the exchange ended before it.
        case noSuchMoment
        /// Another fault ended the exchange or the connection first.
        case overtaken
    }

    private struct State: Sendable {
        var waiting = WaitingFaults()
        var committed: [CommittedFault] = []
        var missed: [(claim: ClaimedFault, reason: Miss)] = []
        var exchanges = 0
    }

    /// The number of committed faults, and of missed ones, that are remembered.
    private static let memory = 65_536

    private let ground: FaultGround
    private let state = Watched(State())

    init(_ ground: FaultGround) {
        self.ground = ground
    }

    func inject(_ fault: Fault, at target: Fault.Target) throws {
        try self.ground.check(fault, at: target)
        self.state.update { $0.waiting.append(fault, at: target) }
    }

    func removeAll() {
        self.state.update { $0.waiting = WaitingFaults() }
    }

    var committed: [CommittedFault] { self.state.update { $0.committed } }

    func waitForCommitted(_ count: Int) async throws {
        try await self.state.wait { $0.committed.count >= count }
    }

    /// Records that a fault begins.
    func commit(_ fault: CommittedFault) {
        self.state.update { if $0.committed.count < Self.memory { $0.committed.append(fault) } }
    }

    /// Records that an exchange or a connection ended without the faults that it had claimed.
    func miss(_ claims: [ClaimedFault], _ reason: Miss) {
        self.state.update { state in
            guard state.missed.count < Self.memory else { return }
            state.missed += claims.map { (claim: $0, reason: reason) }
        }
    }

    /// The faults that should have happened by now but did not, in words.
    var complaints: [String] {
        self.state.update { state in
            let missed = state.missed.filter { claim, reason in
                // A fault for every exchange may be overtaken by a fault for one exchange, if it happened elsewhere.
                reason == .noSuchMoment || claim.isOnce || !state.committed.contains { $0.fault == claim.fault }
            }
            return state.waiting.unmet.map { "\($0) was not reached" }
                + missed.map { $0.reason.complaint($0.claim.fault) }
        }
    }

    /// The faults that hit a new connection.
    func claim(connection index: Int) -> [ClaimedFault] {
        self.state.update { $0.waiting.claim(connection: index) }
    }

    /// The faults that hit a new exchange.
    func claim(exchange index: Int, onConnection connection: Int) -> [ClaimedFault] {
        self.state.update { state in
            defer { state.exchanges += 1 }
            return state.waiting.claim(exchange: state.exchanges, index: index, onConnection: connection)
        }
    }
}

extension FaultScript.Miss {
    fileprivate func complaint(_ fault: Fault) -> String {
        let subject = fault.trigger.isOfConnection ? "connection" : "exchange"
        return switch self {
        case .noSuchMoment: "\(fault) found no such moment in its \(subject)"
        case .overtaken: "\(fault) came too late: another fault had ended its \(subject)"
        }
    }
}
#endif
