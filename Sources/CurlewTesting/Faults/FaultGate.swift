internal import NIOCore

/// Thrown through an exchange when a fault has ended it.
struct FaultStruck: Error {}

/// The faults of one exchange, committed as it passes their moments.
final class FaultGate: Sendable {
    private let pending: Watched<[Fault]>
    private let struck = Watched(false)
    private let connection: AcceptedConnection
    private let port: ServerPort
    private let isHTTP2: Bool

    init(_ faults: [Fault], connection: AcceptedConnection, port: ServerPort, isHTTP2: Bool) {
        self.pending = Watched(faults)
        self.connection = connection
        self.port = port
        self.isHTTP2 = isHTTP2
    }

    /// Whether a fault has ended the exchange.
    var isStruck: Bool { self.struck.update { $0 } }

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

    /// Commits the faults in the response's body that `count` bytes have reached.
    func passResponseBody(_ count: Int) async throws {
        try await self.commit { trigger in
            if case .responseBody(let after) = trigger.kind { return after <= count }
            return false
        }
    }

    /// How many bytes of the response's body may be sent until the next fault in it.
    func responseBytesUntilFault(sent: Int) -> Int? {
        self.pending.update { faults in
            faults.compactMap { fault in
                if case .responseBody(let after) = fault.trigger.kind { return max(0, after - sent) }
                return nil
            }.min()
        }
    }

    private func commit(_ matches: @escaping (Fault.Trigger) -> Bool) async throws {
        while let fault = self.take(matches) {
            self.port.channel.flush()
            try? await self.port.drained()
            if try await self.commit(fault) {
                self.struck.update { $0 = true }
                throw FaultStruck()
            }
        }
    }

    private func take(_ matches: (Fault.Trigger) -> Bool) -> Fault? {
        self.pending.update { faults in
            faults.firstIndex { matches($0.trigger) }.map { faults.remove(at: $0) }
        }
    }

    /// Returns whether the exchange has ended.
    private func commit(_ fault: Fault) async throws -> Bool {
        switch fault.effect.kind {
        case .goAway(let code):
            if self.isHTTP2 { self.connection.sendGoAway(code: code) }
            return false
        case .resetStream(let code) where self.isHTTP2:
            self.port.channel.resetStream(code: code)
            return true
        case .garbage(let bytes) where fault.trigger == .atResponseEnd:
            try await self.connection.writePlain(bytes)
            return false
        default:
            await self.connection.commit(fault.effect)
            return true
        }
    }
}
