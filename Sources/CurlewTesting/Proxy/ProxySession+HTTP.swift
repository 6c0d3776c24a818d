#if TestKit
extension ProxySession {
    /// Serves requests until one becomes a tunnel or the client ends the connection.
    func serveHTTP() async throws {
        for index in 0... {
            let head = ProxyRequestHead(try await self.client.readHead())
            let gate = self.makeGate(exchange: index)
            defer { gate.finish() }
            guard try await self.serve(head, gate) else { return }
        }
    }

    /// Serves one request; returns true if the connection may carry another one.
    private func serve(_ head: ProxyRequestHead, _ gate: FaultGate) async throws -> Bool {
        try await gate.pass(.atRequestStart)
        let isAccepted = self.isAuthorized(head)
        self.record(
            head.method,
            head.target,
            head: head.text,
            credentials: head.credentials,
            isAccepted: isAccepted && self.core.configuration.refusal == nil
        )
        try await gate.pass(.atResponseStart)
        guard isAccepted else {
            try await self.demandCredentials(head)
            try await gate.pass(.atResponseEnd)
            return true
        }
        if let refusal = self.core.configuration.refusal {
            try await self.answer("\(refusal) Refused")
            try await gate.pass(.atResponseEnd)
            return false
        }
        guard let upstream = try? await self.connect(for: head) else {
            try await self.answer("502 Bad Gateway")
            return false
        }
        if head.method == "CONNECT" {
            try await self.client.write("HTTP/1.1 200 Connection established\r\n\r\n")
        } else {
            // A connection carries one forwarded request: the server is asked to close, and the bytes pass unread.
            try await upstream.write(Array(head.forwarded.utf8))
        }
        try await self.tunnel(to: upstream, gate)
        return false
    }

    private func demandCredentials(_ head: ProxyRequestHead) async throws {
        let bodyLength = head.field("content-length").flatMap { Int($0) } ?? 0
        _ = try await self.client.readExactly(bodyLength)
        try await self.answer("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"test\"")
    }

    private func isAuthorized(_ head: ProxyRequestHead) -> Bool {
        self.core.configuration.credentials == nil || head.credentials == self.core.configuration.credentials
    }

    private func connect(for head: ProxyRequestHead) async throws -> Upstream {
        guard let (host, port) = head.authority else { throw TestKitError("no authority in \(head.target)") }
        return try await Upstream.connect(host: host, port: port)
    }

    private func answer(_ status: String, _ fields: String...) async throws {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: 0"] + fields
        try await self.client.write(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }
}
#endif
