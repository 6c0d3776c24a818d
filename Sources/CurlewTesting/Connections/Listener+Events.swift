#if TestKit
extension Listener {
    var counts: ConnectionCounts {
        self.connections.state.update { $0.counts }
    }

    func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.connections.state.take { condition($0.counts) ? $0.counts : nil }
    }

    func url(_ path: String, usesTLS: Bool) -> String {
        let port = self.port == 0 ? "" : ":\(self.port)"
        return "\(usesTLS ? "https" : "http")://\(self.address.urlHost)\(port)\(path)"
    }
}
#endif
