import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Framing of responses and targets of faults", .noLeaks, .timeLimit(.minutes(1)))
struct MockServerFramingTests {
    private func session(_ choice: HTTPVersionPolicy = .http2PriorKnowledge) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.versionPolicy = choice
        return try HTTPSession(configuration: configuration, chain: .bare)
    }

    @Test("the framing of a response determines Content-Length and, in HTTP/2, the end of the connection")
    func http2Framing() async throws {
        let server = try await MockServer.start()
        let session = try self.session()
        for (framing, length) in [(MockResponse.Framing.automatic, Int64(5)), (.chunked, nil), (.untilClose, nil)] {
            var answer = MockResponse(body: "hello")
            answer.framing = framing
            server.enqueue(answer)
            let response = try await session.get(.raw(server.url()))
            #expect(response.contentLength == length)
            #expect(try await response.body.collect(upTo: 9) == Array("hello".utf8))
        }
        #expect(server.connectionCounts.accepted == 1)
        // The server sent GOAWAY before its last answer, so the next request needs a new connection.
        server.enqueue(MockResponse())
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(server.connectionCounts.accepted > 1)
    }

    @Test("an early response is sent during a long request, and echoes its body as it arrives")
    func echo() async throws {
        let server = try await MockServer.start { MockResponse(body: .stream($0.body)) }
        for choice in [HTTPVersionPolicy.http11, .http2PriorKnowledge] {
            let bytes = BytePattern.bytes(count: 3 << 20)
            let response = try await self.session(choice).put(.raw(server.url()), .body(.bytes(bytes)))
            #expect(try await response.body.collect(upTo: .mebibytes(4)) == bytes)
        }
    }

    @Test("a fault applies to the exchange and connection that it names")
    func targets() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        try server.inject(Fault(.atResponseStart, .close), at: .exchange(1, onConnection: 1))
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        let first = try await WireClient.connect(port: server.port)
        try await first.send(get)
        _ = try await first.receive(through: "\r\n\r\nx")
        let second = try await WireClient.connect(port: server.port)
        for client in [second, first] {
            try await client.send(get)
            _ = try await client.receive(through: "\r\n\r\nx")
        }
        try await second.send(get)
        #expect(try await second.receiveAll() == [])
        #expect(server.committedFaults.map(\.connectionIndex) == [1])
        #expect(server.committedFaults.map(\.exchangeIndex) == [1])
        try server.verify()
    }

    @Test("verify lists the faults that were never triggered")
    func verify() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(body: "x"), MockResponse())
        try server.inject(Fault(.inResponseBody(after: 2), .close))
        try server.inject(Fault(.atResponseStart, .reset), at: .exchange(7))
        try server.inject(Fault(.atResponseStart, .stall), at: .connection(7))
        #expect(try await self.session().get(.raw(server.url())).status == .ok)
        await server.shutdown()
        let complaint = #expect(throws: TestKitError.self) { try server.verify() }
        #expect(
            complaint?.description
                == "reset at the response's start was not reached; stall at the response's start was not reached; "
                + "close in the response's body after 2 bytes found no such moment in its exchange; "
                + "responses left in the queue: 1"
        )
    }

    @Test("a fault of HTTP/2 on an exchange over HTTP/1.1 is answered with the reason")
    func wrongVersion() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        try server.inject(Fault(.atResponseStart, .goAway(.noError)))
        let response = try await self.session(.http11).get(.raw(server.url()))
        #expect(response.status == .internalServerError)
        let text = String(decoding: try await response.body.collect(upTo: 200), as: UTF8.self)
        #expect(text.contains("GOAWAY 0 at the response's start: this exchange does not use HTTP/2"))
        #expect(server.committedFaults == [])
        #expect(throws: TestKitError.self) { try server.verify() }
    }
}
