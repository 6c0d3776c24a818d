import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import NIOCore
import NIOSSL
import Testing

@Suite("MockServer", .noLeaks, .timeLimit(.minutes(1)))
struct MockServerTests {
    @Test("a queued response answers one request, and 404 answers the next")
    func queue() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(body: "hello"))
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        let first = try await client.receive(through: "hello")
        #expect(first == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        try await client.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        let requests = [await server.takeRequest(), await server.takeRequest()].compactMap { $0 }
        #expect(requests.map(\.target) == ["/a", "/b"])
        #expect(requests.map(\.exchangeIndex) == [0, 1])
        try await client.close()
        try await server.waitForConnections(open: 0)
    }

    @Test("a server listens on IPv6, and its URL has the address in brackets", arguments: [true, false])
    func ipv6(usesTLS: Bool) async throws {
        let tls = usesTLS ? ServerTLS([try .localhost()]) : nil
        let server = try await MockServer.start(.init(address: .ipv6, tls: tls)) { _ in MockResponse(body: "six") }
        #expect(server.url("/a") == "\(usesTLS ? "https" : "http")://[::1]:\(server.port)/a")
        var trust = NIOSSLClient.untrusting
        trust.applicationProtocols = ["http/1.1"]
        let client = try await WireClient.connect(host: "::1", port: server.port, tls: usesTLS ? trust : nil)
        try await client.send("GET /a HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        _ = try await client.receive(through: "\r\n\r\nsix")
        #expect(await server.takeRequest()?.fields[HTTPField.Name("Host")!] == "[::1]")
        await server.shutdown()
        await #expect(throws: (any Error).self) { _ = try await WireClient.connect(host: "::1", port: server.port) }
    }

    @Test("a chunked upload is recorded with its chunks and trailers")
    func chunkedUpload() async throws {
        let server = try await MockServer.start()
        let client = try await WireClient.connect(port: server.port)
        try await client.send(
            "POST /u HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
        )
        try await client.send("0\r\nX-Sum: 9\r\n\r\n")
        let request = try #require(await server.takeRequest())
        #expect(request.text == "abcde")
        #expect(request.chunkSizes == [3, 2])
        #expect(request.isComplete)
        #expect(request.trailers[HTTPField.Name("X-Sum")!] == "9")
    }

    @Test("a body can be read while the response's body is being sent")
    func echo() async throws {
        let server = try await MockServer.start { MockResponse(body: .stream($0.body)) }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
        #expect(try await client.receive(through: "abc").hasSuffix("3\r\nabc"))
        try await client.send("def")
        #expect(try await client.receive(through: "0\r\n\r\n") == "\r\n3\r\ndef\r\n0\r\n\r\n")
    }

    @Test("100 (Continue) is sent once a handler reads the body")
    func continues() async throws {
        let server = try await MockServer.start { request in
            request.path == "/no" ? MockResponse(status: .init(code: 417)) : MockResponse(body: .stream(request.body))
        }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("PUT /yes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        _ = try await client.receive(through: "HTTP/1.1 200 OK\r\n")
    }

    @Test("a queued response can send 100 (Continue), or answer directly")
    func expectation() async throws {
        let server = try await MockServer.start()
        var straight = MockResponse(status: .init(code: 417))
        straight.expectation = .answersAtOnce
        server.enqueue(MockResponse(), straight)
        let head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
        let client = try await WireClient.connect(port: server.port)
        try await client.send(head)
        #expect(try await client.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        try await client.send("x")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        try await client.send(head)
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 417"))
    }

    @Test("a request is recorded on arrival, while its handler waits", arguments: [0, 5])
    func recordedAtOnce(length: Int) async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in
            try await clock.sleep(for: .seconds(1))
            return MockResponse()
        }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n")
        try await client.send(BytePattern.bytes(count: length))
        let request = try #require(await server.takeRequest())
        #expect(request.isComplete)
        #expect(request.body == BytePattern.bytes(count: length))
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        #expect(server.requestCount == 1)
    }

    @Test("a body that no handler reads is accepted up to a limit")
    func unread() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in
            try await clock.sleep(for: .seconds(1))
            return MockResponse(body: "enough")
        }
        let length = 64 << 20
        let session = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare)
        let call = Task {
            try await session.put(.raw(server.url()), .body(.bytes([UInt8](repeating: 7, count: length)))).status
        }
        try await clock.waitForSleepers()
        #expect(server.requestCount == 0)
        clock.advance(by: .seconds(1))
        #expect(try await call.value == .ok)
    }

    @Test("interim responses, a reason phrase and trailers arrive as configured")
    func parts() async throws {
        let server = try await MockServer.start()
        var response = MockResponse(status: .init(code: 299, reasonPhrase: "Odd"), body: "x")
        response.interim = [.init(status: .init(code: 103), fields: [HTTPField.Name("Link")!: "</a>"])]
        response.trailers = [HTTPField.Name("X-Sum")!: "1"]
        server.enqueue(response)
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasSuffix("Link: </a>\r\n\r\n"))
        let rest = try await client.receive(through: "X-Sum: 1\r\n\r\n")
        #expect(rest.hasPrefix("HTTP/1.1 299 Odd\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"))
    }

    @Test("a pattern of megabytes arrives complete over a Unix socket")
    func pattern() async throws {
        let path = "/tmp/curlew-\(UInt32.random(in: 0 ... .max)).socket"
        let server = try await MockServer.start(.init(address: .unixSocket(path: path)))
        var response = MockResponse(body: .pattern(count: 3_000_000))
        response.framing = .untilClose
        server.enqueue(response)
        let client = try await WireClient.connect(to: SocketAddress(unixDomainSocketPath: path))
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try await client.receive(through: "\r\n\r\n")
        let body = try await client.receiveAll()
        #expect(body.count == 3_000_000)
        #expect(BytePattern.matches(body, at: 0))
    }

    @Test("delay and throttle use the configured clock")
    func throttle() async throws {
        let clock = TestClock()
        var configuration = MockServer.Configuration()
        configuration.clock = clock
        let server = try await MockServer.start(configuration)
        var response = MockResponse(body: "abcd")
        response.headDelay = .seconds(3600)
        response.throttle = .init(bytes: 2, every: .seconds(60))
        server.enqueue(response)
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await clock.advanceToNextSleeper() == .seconds(3600))
        #expect(try await client.receive(through: "ab").hasSuffix("\r\n\r\nab"))
        #expect(try await clock.advanceToNextSleeper() == .seconds(60))
        #expect(try await client.receive(through: "cd") == "cd")
    }

    @Test("a handler is cancelled when its client disconnects")
    func cancellation() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in
            try await clock.sleep(for: .seconds(1))
            return MockResponse()
        }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try await clock.waitForSleepers()
        try await client.close()
        try await server.waitForConnections(open: 0)
        await server.shutdown()
        #expect(clock.sleeperCount == 0)
    }

    @Test("shutdown ends a stalled exchange and the sequence of requests")
    func shutdown() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { _ in
            try await clock.sleep(for: .seconds(1))
            return MockResponse()
        }
        let client = try await WireClient.connect(port: server.port)
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try await clock.waitForSleepers()
        await server.shutdown()
        #expect(server.connectionCounts.open == 0)
        for await request in server.requests { #expect(request.target == "/") }
        _ = try? await client.receiveAll()
    }
}

// These tests start a server without a scope, so no reference holds it.
@Suite("A MockServer without references", .timeLimit(.minutes(1)))
struct DroppedMockServerTests {
    @Test("a dropped server closes its connections")
    func dropped() async throws {
        var server: MockServer? = try await MockServer.start()
        let client = try await WireClient.connect(port: try #require(server?.port))
        try await server?.waitForConnections(open: 1)
        server = nil
        _ = try? await client.receiveAll()
    }
}
