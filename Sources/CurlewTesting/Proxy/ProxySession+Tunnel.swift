#if TestKit
extension ProxySession {
    /// Forwards bytes both ways until both sides have ended, one side has aborted, or a fault has happened.
    func tunnel(to upstream: Upstream, _ gate: FaultGate) async throws {
        defer { upstream.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.carryRequest(to: upstream, gate) }
            group.addTask { try await self.carryResponse(from: upstream, gate) }
            // The first fault ends both directions.
            while try await group.next() != nil {}
        }
    }

    private func carryRequest(to upstream: Upstream, _ gate: FaultGate) async throws {
        var count = 0
        do {
            while let bytes = try await self.client.read() {
                if gate.isStruck { return }
                count += bytes.count
                try await gate.passRequestBody(count)
                try await upstream.write(bytes)
            }
            await upstream.halfClose()
        } catch let struck as FaultStruck {
            throw struck
        } catch {
            if !gate.isStruck { upstream.close() }
        }
    }

    private func carryResponse(from upstream: Upstream, _ gate: FaultGate) async throws {
        var count = 0
        do {
            try await gate.passResponseBody(0, after: 0) { _ in }
            while let bytes = try await upstream.read() {
                if gate.isStruck { return }
                var rest = bytes[...]
                try await gate.passResponseBody(bytes.count, after: count) { length in
                    try await self.client.write(Array(rest.prefix(length)))
                    rest = rest.dropFirst(length)
                }
                count += bytes.count
            }
            try await gate.pass(.atResponseEnd)
            try await self.client.halfClose()
        } catch let struck as FaultStruck {
            throw struck
        } catch {
            if !gate.isStruck { self.connection.abort() }
        }
    }
}
#endif
