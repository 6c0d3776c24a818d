import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("HTTP/2", .noLeaks, .timeLimit(.minutes(1)))
struct HTTP2Tests {
    private let request: [(String, String)] = [
        (":method", "GET"), (":scheme", "http"), (":path", "/h2"), (":authority", "x"),
    ]

    @Test("a client with prior knowledge of HTTP/2 is answered")
    func mockServer() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(body: "hello"))
        let client = try await self.open(server.port)
        try await client.send(HTTP2WireFrame.headers(stream: 1, fields: self.request, endStream: true).bytes)
        let data = try await client.receiveFrame { $0.kind == .data && !$0.payload.isEmpty }
        #expect(String(decoding: data.payload, as: UTF8.self) == "hello")
        let recorded = try #require(await server.takeRequest())
        #expect(recorded.version == .http2)
        #expect(recorded.target == "/h2")
        #expect(recorded.fields[HTTPField.Name("host")!] == "x")
    }

    @Test("a fault resets one stream, and GOAWAY lets the running exchange end")
    func faults() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        try server.inject(Fault(.inResponseBody(after: 2), .resetStream(.refusedStream)), at: .exchange(0))
        try server.inject(Fault(.atResponseStart, .goAway(.noError)), at: .exchange(1))
        let client = try await self.open(server.port)
        try await client.send(HTTP2WireFrame.headers(stream: 1, fields: self.request, endStream: true).bytes)
        let reset = try await client.receiveFrame { $0.kind == .resetStream }
        #expect(reset.payload == [0, 0, 0, 7])
        try await client.send(HTTP2WireFrame.headers(stream: 3, fields: self.request, endStream: true).bytes)
        _ = try await client.receiveFrame { $0.kind == .goAway }
        _ = try await client.receiveFrame { $0.kind == .data && $0.stream == 3 }
    }

    @Test("a raw server sends and receives single HTTP/2 frames")
    func rawFrames() async throws {
        let server = try await RawServer.start { connection in
            let stream = try await connection.acceptHTTP2Request(settings: [(.maxConcurrentStreams, 1)])
            try await connection.write(
                .response(stream: stream, status: 200, fields: [("x-long", String(repeating: "y", count: 300))]),
                .data(stream: stream, Array("hi".utf8), endStream: true),
                .goAway(lastStream: stream, .enhanceYourCalm)
            )
            try await connection.closed
        }
        let client = try await self.open(server.port)
        try await client.send(HTTP2WireFrame.headers(stream: 1, fields: self.request, endStream: true).bytes)
        let settings = try await client.receiveFrame { $0.kind == .settings && $0.flags.isEmpty }
        #expect(settings.payload == [0, 3, 0, 0, 0, 1])
        #expect(try await client.receiveFrame { $0.kind == .data }.payload == Array("hi".utf8))
        #expect(try await client.receiveFrame { $0.kind == .goAway }.payload == [0, 0, 0, 1, 0, 0, 0, 11])
    }

    private func open(_ port: Int) async throws -> WireClient {
        let client = try await WireClient.connect(port: port)
        try await client.send(RawConnection.http2Preface + HTTP2WireFrame.settings().bytes)
        return client
    }
}

extension WireClient {
    func receiveFrame(where condition: (HTTP2WireFrame) -> Bool) async throws -> HTTP2WireFrame {
        while true {
            let head = try await self.receive(count: 9)
            let payload = try await self.receive(count: head[0..<3].reduce(0) { $0 << 8 | Int($1) })
            let frame = HTTP2WireFrame(
                kind: .init(rawValue: head[3]),
                flags: .init(rawValue: head[4]),
                stream: head[5..<9].reduce(0) { $0 << 8 | UInt32($1) },
                payload: payload
            )
            if condition(frame) { return frame }
        }
    }
}
