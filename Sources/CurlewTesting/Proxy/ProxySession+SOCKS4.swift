#if TestKit
extension ProxySession {
    /// Serves SOCKS4: request, connection, tunnel.
    func serveSOCKS4() async throws {
        let head = try await self.client.readExactly(8)
        guard head[0] == 4, head[1] == 1 else { throw TestKitError("SOCKS version \(head[0]), command \(head[1])") }
        let user = try await self.readText()
        // An address 0.0.0.x other than 0.0.0.0 means that a name follows.
        let isNamed = head[4..<7].allSatisfy { $0 == 0 } && head[7] != 0
        let host = isNamed ? try await self.readText() : head[4..<8].map(String.init).joined(separator: ".")
        let port = Int(head[2]) << 8 | Int(head[3])
        let gate = self.makeGate(exchange: 0)
        defer { gate.finish() }
        try await gate.pass(.atRequestStart)

        let configuration = self.core.configuration
        let isKnown = configuration.credentials == nil || configuration.credentials?.user == user
        self.record(
            "SOCKS4",
            "\(host):\(port)",
            credentials: user.isEmpty ? nil : .init(user: user, password: ""),
            isAccepted: isKnown && configuration.refusal == nil
        )
        try await gate.pass(.atResponseStart)
        // 93 means "the user differs", 91 "rejected or failed".
        let refusal = configuration.refusal.map { UInt8(truncatingIfNeeded: $0) } ?? (isKnown ? nil : 93)
        if let refusal {
            try await self.replySOCKS4(refusal)
            return try await gate.pass(.atResponseEnd)
        }
        guard let upstream = try? await Upstream.connect(host: host, port: port) else {
            return try await self.replySOCKS4(91)
        }
        try await self.replySOCKS4(90)
        try await self.tunnel(to: upstream, gate)
    }

    private func replySOCKS4(_ code: UInt8) async throws {
        try await self.client.write([0, code, 0, 0, 0, 0, 0, 0])
    }

    /// Reads text up to a zero byte.
    private func readText() async throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < 256 {
            let byte = try await self.client.readExactly(1)[0]
            if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        throw TestKitError("more than 255 bytes without an end")
    }
}
#endif
