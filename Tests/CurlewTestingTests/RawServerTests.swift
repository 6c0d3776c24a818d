import CurlewTesting
import CurlewTestingTraits
import NIOCore
import Testing

@Suite("RawServer", .noLeaks, .timeLimit(.minutes(1)))
struct RawServerTests {
    @Test("bytes are sent unchanged, and the connection closes when the closure returns")
    func exactBytes() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let body = try await connection.readExactly(3)
            try await connection.write(
                "\(connection.index) \(head.utf8.count) \(String(decoding: body, as: UTF8.self))"
            )
        }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET / HTTP/1.1\r\n\r\nabc")
        #expect(String(decoding: try await client.receiveAll(), as: UTF8.self) == "0 18 abc")
        try await server.waitForAccepted(1)
    }

    @Test("a reset is an error for the client, a half close is not")
    func endings() async throws {
        let server = try await RawServer.start { connection in
            try await connection.write("x")
            if connection.index == 0 { return await connection.reset() }
            try await connection.halfClose()
            #expect(try await connection.read() == Array("late".utf8))
        }
        // The server's reset may arrive before the client has checked its new connection.
        await #expect(throws: (any Error).self) {
            let first = try await WireClient.connect(port: server.port)
            _ = try await first.receiveAll()
            try await first.send("y")
        }
        let second = try await WireClient.connect(port: server.port)
        #expect(try await second.receiveAll() == Array("x".utf8))
        try await second.send("late")
        try await server.waitForConnections { $0.accepted == 2 && $0.open == 0 }
    }

    @Test("a stalled connection ends when the client closes")
    func stallEndsWithClient() async throws {
        let server = try await RawServer.start { try await $0.closed }
        let client = try await WireClient.connect(port: server.port)
        try await server.waitForConnections { $0.open == 1 }
        try await client.close()
        try await server.waitForConnections { $0.open == 0 }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a stalled connection ends when the server shuts down")
    func stallEndsWithServer() async throws {
        let server = try await RawServer.start { try await $0.closed }
        let client = try await WireClient.connect(port: server.port)
        try await server.waitForAccepted(1)
        await server.shutdown()
        #expect(server.connectionCounts.open == 0)
        // The connection ends cleanly or by a reset, which throws; no bytes were sent.
        #expect((try? await client.receiveAll())?.isEmpty != false)
    }

    @Test("a stalled listener accepts no connection")
    func stalledListener() async throws {
        let listener = try StalledListener()
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: listener.port)
        await #expect(throws: ChannelError.self) {
            _ = try await WireClient.connect(to: address, timeout: .milliseconds(200))
        }
    }

    @Test("a refused port refuses connections")
    func refusedPort() async throws {
        let refused = try RefusedPort.unused()
        await #expect(throws: (any Error).self) { _ = try await WireClient.connect(port: refused.port) }
    }
}
