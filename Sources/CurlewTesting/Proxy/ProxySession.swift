#if TestKit
/// A connection of a ``MockProxy``.
struct ProxySession: Sendable {
    let core: ProxyCore
    let connection: AcceptedConnection
    let client: RawConnection

    /// Makes the gate for the faults of an exchange that begins.
    func makeGate(exchange index: Int) -> FaultGate {
        let exchange = FaultGate.Exchange(
            connection: self.connection,
            index: index,
            flush: { [client] in try? await client.flush() },
            untilClientEnds: { [client] in try? await client.closed },
            willEnd: {},
            resetStream: nil
        )
        return FaultGate(exchange, script: self.core.faults)
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
}
#endif
