#if TestKit
/// Thrown through an exchange when a fault has ended it.
struct FaultStruck: Error {}

/// The faults of one exchange, committed as it passes their moments.
final class FaultGate: Sendable {
    /// What an exchange offers to its faults.
    struct Exchange: Sendable {
        let connection: AcceptedConnection
        let index: Int
        /// Returns when all that was written has left.
        let flush: @Sendable () async -> Void
        /// Returns when the client has ended its direction or is gone, or the task is cancelled.
        let untilClientEnds: @Sendable () async -> Void
        /// Is called when a fault is about to end the exchange, however long that takes.
        let willEnd: @Sendable () -> Void
        /// Sends RST_STREAM; `nil` without HTTP/2.
        let resetStream: (@Sendable (UInt32) -> Void)?
    }

    private struct State: Sendable {
        var pending: [ClaimedFault]
        var isStruck = false
    }

    private let state: Watched<State>
    private let exchange: Exchange
    private let script: FaultScript
    /// Why a fault of this exchange cannot happen in it.
    let objection: String?

    init(_ exchange: Exchange, script: FaultScript) {
        let claims = script.claim(exchange: exchange.index, onConnection: exchange.connection.index)
        let unfit = exchange.resetStream == nil ? claims.filter(\.fault.effect.needsHTTP2) : []
        self.exchange = exchange
        self.script = script
        self.objection = unfit.first.map { "\($0.fault): this exchange does not use HTTP/2" }
        self.state = Watched(State(pending: claims.filter { !unfit.contains($0) }))
        script.miss(unfit, .noSuchMoment)
    }

    /// True if a fault has ended the exchange, or is about to.
    var isStruck: Bool { self.state.update { $0.isStruck } }

    /// Commits the faults of this moment; throws ``FaultStruck`` when one ends the exchange.
    func pass(_ trigger: Fault.Trigger) async throws {
        try await self.commit { $0 == trigger }
    }

    /// Commits the faults in the request's body that `count` bytes have reached.
    func passRequestBody(_ count: Int) async throws {
        try await self.commit { trigger in
            if case .requestBody(let after) = trigger.kind { return after <= count }
            return false
        }
    }

    /// Sends `count` bytes of the response's body, in pieces that end where a fault is to be committed.
    ///
    /// - Parameters:
    ///   - count: The bytes to send.
    ///   - sent: The bytes that were sent before.
    ///   - send: Sends so many of the next bytes.
    func passResponseBody(_ count: Int, after sent: Int, send: (Int) async throws -> Void) async throws {
        var sent = sent
        let end = sent + count
        while true {
            try await self.commit { trigger in
                if case .responseBody(let after) = trigger.kind { return after <= sent }
                return false
            }
            guard sent < end else { return }
            let piece = min(end - sent, self.bytesUntilFault(after: sent) ?? .max)
            try await send(piece)
            sent += piece
        }
    }

    /// Notes the faults whose moments did not come. Nothing happens when it is called again.
    func finish() {
        let (left, isStruck) = self.state.update { state in
            defer { state.pending = [] }
            return (state.pending, state.isStruck)
        }
        if !left.isEmpty { self.script.miss(left, isStruck ? .overtaken : .noSuchMoment) }
    }

    private func bytesUntilFault(after sent: Int) -> Int? {
        self.state.update { state in
            state.pending.compactMap { claim in
                if case .responseBody(let after) = claim.fault.trigger.kind { return max(0, after - sent) }
                return nil
            }.min()
        }
    }

    private func commit(_ matches: @escaping (Fault.Trigger) -> Bool) async throws {
        while let fault = self.take(matches) {
            await self.exchange.flush()
            self.script.commit(
                CommittedFault(
                    fault: fault,
                    connectionIndex: self.exchange.connection.index,
                    exchangeIndex: self.exchange.index
                )
            )
            if fault.isEnding { self.exchange.willEnd() }
            if try await self.commit(fault) { throw FaultStruck() }
        }
    }

    private func take(_ matches: (Fault.Trigger) -> Bool) -> Fault? {
        self.state.update { state in
            guard let index = state.pending.firstIndex(where: { matches($0.fault.trigger) }) else { return nil }
            let fault = state.pending.remove(at: index).fault
            if fault.isEnding { state.isStruck = true }
            return fault
        }
    }

    /// Returns whether the exchange has ended.
    private func commit(_ fault: Fault) async throws -> Bool {
        switch fault.effect.kind {
        case .goAway(let code):
            self.exchange.connection.sendGoAway(code: code)
        case .resetStream(let code):
            self.exchange.resetStream?(code)
        case .garbage(let bytes) where !fault.isEnding:
            try await self.exchange.connection.writePlain(bytes)
        default:
            await self.exchange.connection.commit(fault.effect, untilClientEnds: self.exchange.untilClientEnds)
        }
        return fault.isEnding
    }
}
#endif
