import Curlew
import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@Suite("Time limits and their errors", .timeLimit(.minutes(2)))
struct TimeoutTests {
    /// A server that sends the beginning of an answer, then stalls.
    private func stalling(after answer: String, readingHead: Bool = true) async throws -> RawServer {
        try await RawServer.start { connection in
            if readingHead { _ = try await connection.readHead() }
            try await connection.write(answer)
            try await connection.closed
        }
    }

    @Test(
        "a stall at any point of the answer ends in an idle timeout",
        arguments: [
            "", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 103 Early\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell", "HTTP/1.1 200 OK\r\n\r\nhell",
        ])
    func idle(_ answer: String) async throws {
        let server = try await stalling(after: answer)
        let session = try makeSession { $0.timeouts.idle = .milliseconds(150) }
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .idleTimeout)
        try await server.waitForConnections { $0.open == 0 }
        try await session.expectUsable()
    }

    @Test("slowly arriving bytes keep a transfer alive, in head and body")
    func dripping() async throws {
        let clock = ContinuousClock()
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            for byte in "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow".utf8 {
                try await connection.write([byte])
                try await clock.sleep(for: .milliseconds(60))
            }
        }
        // Forty-three bytes at 60 ms take 2.6 s: longer than the limit, with much shorter pauses.
        let session = try makeSession { $0.timeouts.idle = .seconds(2) }
        #expect(try await session.fetch(server.url()) == Array("slow".utf8))
    }

    @Test("a connect timeout of more milliseconds than 32 bits hold is not shortened")
    func longConnect() async throws {
        let stalled = try StalledListener()
        let session = try makeSession {
            $0.timeouts.connect = .milliseconds(4_294_967_296 + 50)
            $0.timeouts.total = .milliseconds(400)
        }
        #expect(await curlewError { _ = try await session.fetch(stalled.url()) }?.code == .totalTimeout)
    }

    @Test(
        "the total timeout covers the start to the last byte, whether or not bytes arrive", arguments: [true, false])
    func total(drips: Bool) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while drips {
                try await connection.write("x")
                try await ContinuousClock().sleep(for: .milliseconds(10))
            }
            try await connection.closed
        }
        let session = try makeSession { $0.timeouts.total = .milliseconds(200) }
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .totalTimeout)
        try await session.expectUsable()
    }

    @Test("a request to a silent host ends in a connect timeout")
    func connect() async throws {
        let stalled = try StalledListener()
        let session = try makeSession { $0.timeouts.connect = .milliseconds(150) }
        let error = await curlewError { _ = try await session.fetch(stalled.url()) }
        #expect(error?.code == .connectTimeout)
        #expect(error?.stage == .connecting)
        try await session.expectUsable()
    }

    @Test("a TLS handshake that stalls ends in a connect timeout")
    func handshake() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession { $0.timeouts.connect = .milliseconds(150) }
        let error = await curlewError { _ = try await session.fetch("https://127.0.0.1:\(server.port)/") }
        #expect(error?.code == .connectTimeout)
        try await session.expectUsable()
    }

    @Test("a request's own limits precede the session's")
    func perRequest() async throws {
        let server = try await stalling(after: "")
        let session = try makeSession { $0.timeouts.idle = .seconds(30) }
        var options = RequestOptions()
        options.idleTimeout = .milliseconds(100)
        let error = await curlewError { _ = try await session.fetch(server.url(), options: options) }
        #expect(error?.code == .idleTimeout)
        options = RequestOptions()
        options.totalTimeout = .milliseconds(100)
        let other = await curlewError { _ = try await session.fetch(server.url(), options: options) }
        #expect(other?.code == .totalTimeout)
    }

    @Test("the total timeout includes the wait for a connection, the connect timeout does not")
    func waitingForConnection() async throws {
        let server = try await stalling(after: "")
        let session = try makeSession {
            $0.connections.perHost = 1
            $0.timeouts.connect = .milliseconds(100)
        }
        async let first = session.fetch(server.url())
        try await server.waitForAccepted(1)
        var options = RequestOptions()
        options.totalTimeout = .milliseconds(400)
        let error = await curlewError { _ = try await session.fetch(server.url(), options: options) }
        #expect(error?.code == .totalTimeout)
        await session.session?.invalidate(cancelling: true)
        _ = try? await first
    }

    @Test("a timeout of zero or less is an error of the session", arguments: [0, -1])
    func invalidTimeouts(_ seconds: Int) throws {
        for timeout in [\Timeouts.connectionWait, \.connect, \.head, \.idle, \.total] {
            let error = #expect(throws: CurlewError.self) {
                _ = try makeSession { $0.timeouts[keyPath: timeout] = .seconds(seconds) }
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("a lifetime of zero for idle connections is an error of the session")
    func invalidLifetime() throws {
        let error = #expect(throws: CurlewError.self) {
            _ = try makeSession { $0.connections.idleLifetime = .zero }
        }
        #expect(error?.message == "idleLifetime is 0 s, which is no time limit; Timeouts.unlimited is none")
    }

    @Test(
        "a request with a timeout of zero or less is not sent",
        arguments: [Duration.zero, .nanoseconds(-1), .seconds(Int64.min)])
    func invalidOptions(_ value: Duration) async throws {
        let server = try await stalling(after: "")
        let session = try makeSession()
        for option in [
            \RequestOptions.connectionWaitTimeout, \.connectTimeout, \.headTimeout, \.idleTimeout, \.totalTimeout,
            \.expectContinue,
        ] {
            let options = RequestOptions().setting(option, to: value)
            let error = await curlewError { _ = try await session.fetch(server.url(), options: options) }
            #expect(error?.code == .invalidRequest && error?.stage == .preparing)
        }
        #expect(server.accepted == 0)
        await server.shutdown()
    }

    @Test(
        "timeouts beyond the range of the clock are unlimited",
        arguments: [Timeouts.unlimited, Timeouts.unlimited * 8, .seconds(9_223_372_036), .seconds(1e19)])
    func endless(_ value: Duration) async throws {
        let session = try makeSession {
            $0.timeouts = Timeouts(connectionWait: value, connect: value, head: value, idle: value, total: value)
        }
        try await session.expectUsable()
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let options = RequestOptions(
            connectionWaitTimeout: value, connectTimeout: value, headTimeout: value, idleTimeout: value,
            totalTimeout: value)
        #expect(try await session.fetch(server.url(), options: options) == Array("ok".utf8))
        await server.shutdown()
    }

    @Test("a request can disable the session's total timeout, across links that pass on the remaining time")
    func unlimitedRequest() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let target = try await MockServer.start { _ in
            for await _ in gate {}
            return MockResponse(body: "ok")
        }
        let server = try await MockServer.start { _ in redirect(302, to: target.url()) }
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .milliseconds(100)
        let session = try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            Redirects()
            quickRetry()
        }
        let call = Task {
            try await session.fetch(server.url(), options: RequestOptions(totalTimeout: Timeouts.unlimited))
        }
        try await target.waitForRequests(1)
        try await letPass(.milliseconds(300))
        opener.finish()
        #expect(try await call.value == Array("ok".utf8))
        await server.shutdown()
        await target.shutdown()
    }

    @Test("an upload that the server does not read ends in an idle timeout")
    func stalledUpload() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let session = try makeSession { $0.timeouts.idle = .milliseconds(300) }
        let error = await curlewError {
            _ = try await session.put(.raw(server.url()), .body(.bytes(Array(repeating: 7, count: 64 << 20))))
        }
        #expect(error?.code == .idleTimeout)
        try await session.expectUsable()
    }
}
