#if TestKit
/// An error that unwinds an exchange after a fault has ended it.
struct FaultStruck: Error {}

/// The faults of one exchange. The gate commits them when the exchange reaches their moments.
final class FaultGate: Sendable {
    /// The operations of an exchange that its faults use.
    struct Exchange: Sendable {
        let connection: AcceptedConnection
        let index: Int
        /// Returns when all written bytes have left.
        let flush: @Sendable () async -> Void
        /// Returns when the client has ended its direction or disconnected, or the task is cancelled.
        let untilClientEnds: @Sendable () async -> Void
        /// Runs just before a fault ends the exchange, however long the effect takes.
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
    /// The reason why a claimed fault cannot happen in this exchange.
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

    /// True if a fault has ended the exchange or is about to end it.
    var isStruck: Bool { self.state.update { $0.isStruck } }

    /// Commits the faults of this moment; throws ``FaultStruck`` when one ends the exchange.
    func pass(_ trigger: Fault.Trigger) async throws {
        try await self.commit { $0 == trigger }
    }

    /// Commits the faults of the request's body whose offsets are at most `count`.
    func passRequestBody(_ count: Int) async throws {
        try await self.commit { trigger in
            if case .requestBody(let after) = trigger.kind { return after <= count }
            return false
        }
    }

    /// Sends `count` bytes of the response's body, in pieces that end where a fault is committed.
    ///
    /// - Parameters:
    ///   - count: The number of bytes to send.
    ///   - sent: The number of bytes sent earlier.
    ///   - send: Sends the given number of the next bytes.
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

    /// Reports the faults whose moments never came. Later calls do nothing.
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

    /// Returns true if the exchange has ended.
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
