import CurlewTesting
import CurlewTestingTraits
import NIOSSL
import Testing

@Suite("Faults", .noLeaks, .timeLimit(.minutes(1)))
struct FaultTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("a close in the response's body happens after exactly the given number of bytes")
    func closeInBody() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 1 << 20)) }
        try server.inject(Fault(.inResponseBody(after: 1000), .close))
        let client = try await WireClient.connect(port: server.port)
        try await client.send(self.get)
        _ = try await client.receive(through: "\r\n\r\n")
        #expect(try await client.receiveAll() == BytePattern.bytes(count: 1000))
    }

    @Test(
        "a connection can be closed at each phase",
        arguments: [
            Fault.Trigger.onAccept, .afterHandshake, .atRequestStart, .inRequestBody(after: 2), .atResponseStart,
        ]
    )
    func moments(_ trigger: Fault.Trigger) async throws {
        let server = try await MockServer.start { MockResponse(body: .bytes(try await $0.body.collect())) }
        try server.inject(Fault(trigger, .close))
        let client = try await WireClient.connect(port: server.port)
        try? await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        let received = try? await client.receiveAll()
        #expect(received ?? [] == [])
        try await server.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        let next = try await WireClient.connect(port: server.port)
        try await next.send(self.get)
        #expect(try await next.receive(through: "\r\n").hasPrefix("HTTP/1.1 200"))
        await server.shutdown()
    }

    @Test("garbage after a response leaves the connection open")
    func garbage() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        try server.inject(Fault(.atResponseEnd, .garbage(Array("?!".utf8))))
        let client = try await WireClient.connect(port: server.port)
        try await client.send(self.get)
        #expect(try await client.receive(through: "?!").hasSuffix("\r\n\r\nx?!"))
        try await client.send(self.get)
        _ = try await client.receive(through: "\r\n\r\nx")
    }

    @Test("a stall ends when the client closes or the server shuts down", arguments: [true, false])
    func stall(clientCloses: Bool) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "abc") }
        try server.inject(Fault(.inResponseBody(after: 1), .stall))
        let client = try await WireClient.connect(port: server.port)
        try await client.send(self.get)
        _ = try await client.receive(through: "\r\n\r\na")
        if clientCloses {
            try await client.close()
            try await server.waitForConnections(open: 0)
        }
        await server.shutdown()
        #expect(server.connectionCounts.open == 0)
    }

    @Test("TLS can end without close_notify")
    func truncation() async throws {
        let server = try await MockServer.start(.init(tls: ServerTLS([try .selfSigned()]))) { _ in
            MockResponse(body: "abc")
        }
        try server.inject(Fault(.inResponseBody(after: 1), .truncatedTLS))
        var tls = NIOSSLClient.untrusting
        tls.applicationProtocols = ["http/1.1"]
        let client = try await WireClient.connect(port: server.port, tls: tls)
        try await client.send(self.get)
        await #expect(throws: (any Error).self) { _ = try await client.receiveAll() }
    }
}
