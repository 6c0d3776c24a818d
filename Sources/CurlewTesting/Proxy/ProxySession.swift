/// One connection of a ``MockProxy``.
struct ProxySession: Sendable {
    let core: ProxyCore
    let connection: AcceptedConnection
    let client: RawConnection

    /// Commits the faults of a moment; throws when one ends the connection.
    func pass(_ trigger: Fault.Trigger, _ faults: [Fault]) async throws {
        for fault in faults where fault.trigger == trigger {
            if case .goAway = fault.effect.kind { continue }
            await self.connection.commit(fault.effect)
            throw FaultStruck()
        }
    }

    func record(
        _ method: String,
        _ target: String,
        head: String = "",
        credentials: MockProxy.Credentials?,
        isAccepted: Bool
    ) {
        let request = MockProxy.Request(
            method: method,
            target: target,
            head: head,
            credentials: credentials,
            isAccepted: isAccepted,
            connectionIndex: self.connection.index
        )
        self.core.requests.append(request)
    }

    /// Carries bytes both ways until both sides have ended, or one has broken off.
    func tunnel(to upstream: Upstream) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    while let bytes = try await self.client.read() { try await upstream.write(bytes) }
                    await upstream.halfClose()
                } catch {
                    upstream.close()
                }
            }
            group.addTask {
                do {
                    while let bytes = try await upstream.read() { try await self.client.write(bytes) }
                    try await self.client.halfClose()
                } catch {
                    self.connection.abort()
                }
            }
            await group.waitForAll()
        }
        upstream.close()
    }
}
