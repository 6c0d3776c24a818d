extension ProxySession {
    /// Serves requests until one becomes a tunnel or the client ends.
    func serveHTTP() async throws {
        while true {
            let faults = self.core.faults.claimExchange(onConnection: self.connection.index)
            let head = ProxyRequestHead(try await self.client.readHead())
            try await self.pass(.atRequestStart, faults)
            let accepted = self.isAuthorized(head)
            self.record(
                head.method,
                head.target,
                head: head.text,
                credentials: head.credentials,
                isAccepted: accepted
            )
            try await self.pass(.atResponseStart, faults)
            guard accepted else {
                let bodyLength = head.field("content-length").flatMap { Int($0) } ?? 0
                _ = try await self.client.readExactly(bodyLength)
                try await self.answer("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"test\"")
                continue
            }
            if let refusal = self.core.configuration.refusal { return try await self.answer("\(refusal) Refused") }
            guard let upstream = try? await self.connect(for: head) else {
                return try await self.answer("502 Bad Gateway")
            }
            defer { upstream.close() }
            if head.method == "CONNECT" {
                try await self.client.write("HTTP/1.1 200 Connection established\r\n\r\n")
                try await self.pass(.atResponseEnd, faults)
            } else {
                // One forwarded request a connection: the server is told to close, and the bytes pass unread.
                try await upstream.write(Array(head.forwarded.utf8))
            }
            return await self.tunnel(to: upstream)
        }
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
