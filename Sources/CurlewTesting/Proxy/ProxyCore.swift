/// What a ``MockProxy`` and its connections share.
final class ProxyCore: Sendable {
    let configuration: MockProxy.Configuration
    let faults: FaultScript
    let requests = BoundedQueue<MockProxy.Request>(limit: 1024)

    init(configuration: MockProxy.Configuration) {
        self.configuration = configuration
        self.faults = FaultScript(FaultGround(usesTLS: configuration.tls != nil, speaksHTTP2: false))
    }

    func serve(_ connection: AcceptedConnection, _ client: RawConnection) async {
        let session = ProxySession(core: self, connection: connection, client: client)
        do {
            if self.configuration.kind.isSOCKS {
                try await session.serveSOCKS()
            } else {
                try await session.serveHTTP()
            }
        } catch {
            // Whatever breaks one connection ends that connection.
        }
        await client.finish()
    }
}
