#if TestKit
extension ProxySession {
    /// Serves SOCKS5: greeting, authentication, connection, tunnel.
    func serveSOCKS() async throws {
        let greeting = try await self.client.readExactly(2)
        guard greeting[0] == 5 else { throw TestKitError("SOCKS version \(greeting[0])") }
        let methods = try await self.client.readExactly(Int(greeting[1]))
        let gate = self.makeGate(exchange: 0)
        defer { gate.finish() }
        try await gate.pass(.atRequestStart)

        guard case .admitted(let credentials) = try await self.authenticate(methods) else { return }
        let (host, port) = try await self.readTarget()
        let refusal = self.core.configuration.refusal
        self.record("SOCKS5", "\(host):\(port)", credentials: credentials, isAccepted: refusal == nil)
        try await gate.pass(.atResponseStart)
        if let refusal {
            try await self.reply(UInt8(truncatingIfNeeded: refusal))
            return try await gate.pass(.atResponseEnd)
        }
        // 5 is "connection refused" (RFC 1928, section 6).
        guard let upstream = try? await Upstream.connect(host: host, port: port) else { return try await self.reply(5) }
        try await self.reply(0)
        try await self.tunnel(to: upstream, gate)
    }

    private enum Admission {
        case admitted(MockProxy.Credentials?)
        case refused
    }

    /// Selects an authentication method and performs it.
    private func authenticate(_ methods: [UInt8]) async throws -> Admission {
        let wanted: UInt8 = self.core.configuration.credentials == nil ? 0 : 2
        guard methods.contains(wanted) else {
            try await self.client.write([5, 0xff])
            self.record("SOCKS5", "", credentials: nil, isAccepted: false)
            return .refused
        }
        try await self.client.write([5, wanted])
        guard wanted == 2 else { return .admitted(nil) }
        let credentials = try await self.readCredentials()
        let isRight = credentials == self.core.configuration.credentials
        try await self.client.write([1, isRight ? 0 : 1])
        guard isRight else {
            self.record("SOCKS5", "", credentials: credentials, isAccepted: false)
            return .refused
        }
        return .admitted(credentials)
    }

    private func reply(_ code: UInt8) async throws {
        try await self.client.write([5, code, 0, 1, 127, 0, 0, 1, 0, 0])
    }

    /// Reads user and password (RFC 1929).
    private func readCredentials() async throws -> MockProxy.Credentials {
        let head = try await self.client.readExactly(2)
        let user = try await self.client.readExactly(Int(head[1]))
        let passwordLength = try await self.client.readExactly(1)
        let password = try await self.client.readExactly(Int(passwordLength[0]))
        return .init(user: String(decoding: user, as: UTF8.self), password: String(decoding: password, as: UTF8.self))
    }

    /// Reads the address and port of CONNECT.
    private func readTarget() async throws -> (host: String, port: Int) {
        let head = try await self.client.readExactly(4)
        guard head[1] == 1 else { throw TestKitError("SOCKS command \(head[1])") }
        let host: String
        switch head[3] {
        case 1:
            host = try await self.client.readExactly(4).map(String.init).joined(separator: ".")
        case 4:
            let bytes = try await self.client.readExactly(16)
            let groups = stride(from: 0, to: 16, by: 2).map { UInt32(bigEndian: bytes[$0..<($0 + 2)]) }
            host = groups.map { String($0, radix: 16) }.joined(separator: ":")
        default:
            let length = try await self.client.readExactly(1)
            host = String(decoding: try await self.client.readExactly(Int(length[0])), as: UTF8.self)
        }
        let port = UInt32(bigEndian: try await self.client.readExactly(2))
        return (host, Int(port))
    }
}
#endif
