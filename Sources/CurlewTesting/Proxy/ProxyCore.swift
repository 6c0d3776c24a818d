#if TestKit
/// The shared state of a ``MockProxy`` and its connections.
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
            switch self.configuration.kind.speech {
            case .http: try await session.serveHTTP()
            case .socks4: try await session.serveSOCKS4()
            case .socks5: try await session.serveSOCKS()
            }
        } catch {
            // An error on one connection ends only that connection.
        }
        await client.finish()
    }
}
#endif
