import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewWebSockets

@Suite("A WebSocket that reconnects", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketSourceTests {
    /// A clock that cannot wait.
    private struct BrokenClock: Clock {
        struct Failure: Error {}

        var now: ContinuousClock.Instant { ContinuousClock.now }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { throw Failure() }
    }

    /// The events of a source as texts.
    private func words(_ source: WebSocketSource, upTo limit: Int = 100) async -> [String] {
        var words: [String] = []
        for await event in source {
            switch event {
            case .connecting: words.append("connecting")
            case .open: words.append("open")
            case .message(let message): words.append(message.text ?? "bytes")
            case .closed(let closing):
                let reason = closing.error.map { "\($0.code)" } ?? closing.ending.map { "\($0.code.rawValue)" } ?? "?"
                words.append("closed \(reason)" + (closing.wait == nil ? " for good" : ""))
            }
            if words.count == limit { break }
        }
        return words
    }

    private func source(
        _ session: HTTPSession, _ cursor: @escaping WebSocketSource.Cursor = { _ in .init() }
    ) -> WebSocketSource {
        var source = session.webSocketSource("feed", cursor: cursor)
        source.policy.backoff = Retry.Backoff(base: .milliseconds(1), maximum: .milliseconds(5))
        return source
    }

    @Test("a new WebSocket follows a lost connection and a restart, and begins at the cursor")
    func cursor() async throws {
        let paths = Guarded<[String]>([])
        let server = try await RawServer.start { connection in
            let socket = try await MockWebSocket.accept(connection)
            paths.withLock { $0.append(socket.request.path ?? "") }
            switch connection.index {
            case 0:
                try await socket.send(.text("1"))
                try await socket.send(.text("2"))
                await connection.reset()
            case 1:
                try await socket.send(.text("3"))
                try await socket.close(.serviceRestart)
                _ = try await socket.receive()
            default:
                try await socket.send(.text("4"))
                try await socket.close()
                _ = try await socket.receive()
            }
        }
        let session = try makeSession(baseURL: server.url())
        let found = await words(
            source(session) { last in
                WebSocketSource.Handshake(query: last.map { ["after": $0.text ?? ""] } ?? .none)
            })
        #expect(
            found == [
                "connecting", "open", "1", "2", "closed connection-lost",
                "connecting", "open", "3", "closed 1012",
                "connecting", "open", "4", "closed 1000 for good",
            ])
        #expect(paths.withLock { $0 } == ["/feed", "/feed?after=2", "/feed?after=3"])
        await session.shutdown()
    }

    @Test("consecutive failed attempts are limited, and some failures are final")
    func failures() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        }
        let session = try makeSession(baseURL: server.url())
        var source = source(session)
        source.policy.attempts = 3
        #expect(
            await words(source) == [
                "connecting", "closed websocket-handshake-failed", "connecting", "closed websocket-handshake-failed",
                "connecting", "closed websocket-handshake-failed for good",
            ])
        #expect(server.accepted == 3)
        let refusing = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        }
        let other = try makeSession(baseURL: refusing.url())
        #expect(await words(self.source(other)) == ["connecting", "closed websocket-handshake-failed for good"])
        struct Failure: Error {}
        #expect(
            await words(self.source(other) { _ in throw Failure() }) == [
                "connecting", "closed foreign-failure for good",
            ])
        await session.shutdown()
        await other.shutdown()
    }

    @Test("the end of the sequence and a cancellation close the WebSocket with 1001")
    func leaving() async throws {
        let closes = Guarded<[CurlewWebSocket.CloseCode?]>([])
        let server = try await MockWebSocketServer.start { socket in
            try await socket.send(.text("1"))
            let status = try await socket.echo()
            closes.withLock { $0.append(status?.code) }
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        #expect(await words(source(session), upTo: 3) == ["connecting", "open", "1"])
        try await server.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await event in source(session) {
                if case .message = event { start.yield() }
            }
        }
        for await _ in started { break }
        task.cancel()
        await task.value
        try await server.waitForConnections { $0.accepted == 2 && $0.open == 0 }
        try await eventually("the server has seen both ends") { closes.withLock { $0.count } == 2 }
        #expect(closes.withLock { $0 } == [.goingAway, .goingAway])
        await session.shutdown()
    }

    @Test("messages are sent over the open WebSocket")
    func sending() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        var texts: [String] = []
        for await event in source(session) {
            switch event {
            case .open(let socket): try await socket.send(.text("hello"))
            case .message(let message): texts.append(message.text ?? "")
            default: break
            }
            if !texts.isEmpty { break }
        }
        #expect(texts == ["hello"])
        await session.shutdown()
    }

    @Test("a WebSocket that its user closes is not opened again, even without an answer of the peer")
    func ownClose() async throws {
        let server = try await MockWebSocketServer.start { socket in while try await socket.receive() != nil {} }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        var source = source(session)
        source.options.closeTimeout = .milliseconds(50)
        var closings: [WebSocketSource.Closing] = []
        for await event in source {
            switch event {
            case .open(let socket): try await socket.close()
            case .closed(let closing): closings.append(closing)
            case .connecting, .message: break
            }
        }
        #expect(closings.count == 1)
        #expect(closings.first?.ending?.cause == .timedOut)
        #expect(closings.first?.wait == nil)
        #expect(server.accepted == 1)
        await session.shutdown()
    }

    @Test("a WebSocket is opened again after its idle timeout, with the credential of the source")
    func idle() async throws {
        let fields = Guarded<[String?]>([])
        let server = try await MockWebSocketServer.start { socket in
            fields.withLock { $0.append(socket.request.headerFields[.authorization]) }
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        var source = session.webSocketSource("", credential: .bearer("t"))
        source.policy.backoff = Retry.Backoff(base: .milliseconds(1), maximum: .milliseconds(5))
        source.options.idleTimeout = .milliseconds(20)
        var opened = 0
        for await event in source {
            if case .open = event { opened += 1 }
            if case .closed(let closing) = event { #expect(closing.ending?.cause == .idle) }
            if opened == 3 { break }
        }
        try await eventually("the server has seen three requests") { fields.withLock { $0.count } == 3 }
        #expect(fields.withLock { $0.allSatisfy { $0 == "Bearer t" } })
        await session.shutdown()
    }

    @Test("the source's clock measures the time after which a WebSocket counts as a success")
    func clock() async throws {
        let server = try await RawServer.start { connection in
            let socket = try await MockWebSocket.accept(connection)
            if connection.index < 2 { try await socket.close(.serviceRestart) }
            while try await socket.receive() != nil {}
        }
        let session = try makeSession(baseURL: server.url())
        var source = source(session)
        source.policy.attempts = 2
        let clock = TestClock()
        source.clock = clock
        source.policy.backoff = Retry.Backoff(base: .zero, maximum: .zero)
        var iterator = source.makeAsyncIterator()
        var waits: [Duration?] = []
        while waits.count < 2, let event = await iterator.next() {
            if case .open = event { clock.advance(by: .seconds(11)) }
            if case .closed(let closing) = event { waits.append(closing.wait) }
        }
        // Two consecutive failures would end the sequence.
        #expect(waits.count == 2)
        #expect(waits.allSatisfy { $0 != nil })
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a source closes if its clock fails")
    func brokenClock() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.close(.serviceRestart)
            _ = try await socket.receive()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        var source = source(session)
        source.clock = BrokenClock()
        let words = await words(source)
        #expect(words == ["connecting", "open", "closed 1012", "closed foreign-failure for good"])
        await session.shutdown()
    }
}
