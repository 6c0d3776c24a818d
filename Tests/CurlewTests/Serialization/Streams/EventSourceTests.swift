import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("An event source", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct EventSourceTests {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    /// An event as a word.
    private func word(_ event: EventSource.Event?) -> String {
        switch event {
        case .open: "open"
        case .message(let message): "\(message.type) \(message.data) \(message.lastEventID)"
        case .error(let error, let isClosed): "\(isClosed ? "closed" : "error") \(error.code)"
        case nil: "end"
        }
    }

    private func stream(_ text: String) -> MockResponse {
        MockResponse(fields: [.contentType: "text/event-stream; charset=utf-8"], body: .string(text))
    }

    private func source(
        _ server: MockServer, clock: TestClock = TestClock(), lastEventID: String = ""
    ) throws -> EventSource {
        try makeSession().eventSource(
            .raw(server.url()),
            reconnection: ServerSentEvent.ReconnectionPolicy(delay: .seconds(3), maximumDelay: .seconds(20)),
            lastEventID: lastEventID, clock: clock)
    }

    /// The events of a source as words, while another task iterates it.
    private func follow(_ source: EventSource) -> (words: AsyncStream<String>, task: Task<Void, Never>) {
        let (words, report) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            for await event in source { report.yield(word(event)) }
            report.finish()
        }
        return (words, task)
    }

    @Test("an event source reconnects from the last identifier, after the time that the server set")
    func reconnection() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            stream("retry: 1234\nid: 7\nevent: add\ndata: a\n\ndata: b"), stream("data: c\n\n"),
            MockResponse(status: .noContent))
        let clock = TestClock()
        let (words, task) = follow(try source(server, clock: clock))
        #expect(try await clock.advanceToNextSleeper() == .milliseconds(1234))
        #expect(try await clock.advanceToNextSleeper() == .milliseconds(1234))
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(
            seen == [
                "open", "add a 7", "error connection-lost", "open", "message c 7", "error connection-lost",
            ])
        var identifiers: [String?] = []
        for _ in 0..<3 { identifiers.append(await server.takeRequest()?.fields[Self.lastEventID]) }
        #expect(identifiers == [nil, "7", "7"])
    }

    @Test("a delay of any length lasts until the task is cancelled")
    func endlessDelay() async throws {
        let server = try await MockServer.start()
        server.enqueue(stream("data: a\n\n"))
        let endless = Duration.seconds(Int64.max)
        let source = try makeSession().eventSource(
            .raw(server.url()), reconnection: ServerSentEvent.ReconnectionPolicy(delay: endless, maximumDelay: endless))
        let (words, task) = follow(source)
        for await word in words where word == "error connection-lost" { break }
        task.cancel()
        await task.value
    }

    @Test("the last identifier is updated at each empty line, with or without data, and never before")
    func identifiers() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            stream("id: 1\n\n"), stream("id: 2\ndata: cut off"), stream("id\n\n"), stream("id: 3\n\nid: 4\n"),
            MockResponse(status: .noContent))
        let clock = TestClock()
        let (words, task) = follow(try source(server, clock: clock, lastEventID: "0"))
        for _ in 0..<4 { #expect(try await clock.advanceToNextSleeper() == .seconds(3)) }
        await task.value
        for await word in words { #expect(!word.hasPrefix("message")) }
        var identifiers: [String?] = []
        for _ in 0..<5 { identifiers.append(await server.takeRequest()?.fields[Self.lastEventID]) }
        #expect(identifiers == ["0", "1", "1", nil, "3"])
    }

    @Test("a reconnection time of zero still causes a pause, which grows while the server is unreachable")
    func noPause() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            guard connection.index == 0 else { return }
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 0\n\n")
        }
        let clock = TestClock()
        let session = try makeSession()
        let (_, task) = follow(try session.eventSource(.raw(server.url()), clock: clock))
        var delays: [Duration] = []
        for _ in 0..<4 { delays.append(try await clock.advanceToNextSleeper()) }
        #expect(delays == [500, 1000, 2000, 4000].map { .milliseconds($0) })
        task.cancel()
        await task.value
        await session.shutdown(deadline: .zero)
    }

    @Test("a stream that ends at once without an event is a failed attempt")
    func emptyStreams() async throws {
        let server = try await MockServer.start()
        let empty = stream("retry: 0\n: a comment\n\n")
        server.enqueue(empty, empty, empty, stream("data: a\n\n"), empty, empty, empty, empty)
        let clock = TestClock()
        let session = try makeSession()
        let source = try session.eventSource(
            .raw(server.url()), reconnection: ServerSentEvent.ReconnectionPolicy(attempts: 4), clock: clock)
        let (words, task) = follow(source)
        var delays: [Duration] = []
        for _ in 0..<7 { delays.append(try await clock.advanceToNextSleeper()) }
        #expect(delays == [500, 1000, 2000, 500, 500, 1000, 2000].map { .milliseconds($0) })
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(seen.suffix(2) == ["open", "closed connection-lost"])
        #expect(server.requestCount == 8)
        await session.shutdown(deadline: .zero)
    }

    @Test("a stream that lasts for ten seconds is a success, even without events")
    func quietStreams() async throws {
        let clock = TestClock()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: quiet\n\n")
            for await _ in gate { break }
        }
        let session = try makeSession()
        let source = try session.eventSource(
            .raw(server.url()), reconnection: ServerSentEvent.ReconnectionPolicy(attempts: 2), clock: clock)
        let (words, task) = follow(source)
        var delays: [Duration] = []
        for await word in words {
            if word == "open" {
                clock.advance(by: .seconds(10))
                open.yield()
            } else {
                try #require(word == "error connection-lost")
                delays.append(try await clock.advanceToNextSleeper())
                if delays.count == 3 { break }
            }
        }
        #expect(delays == [3, 3, 3].map { .seconds($0) })
        task.cancel()
        await task.value
        await session.shutdown(deadline: .zero)
    }

    @Test(
        "an endless body of a refusal is read for at most ten seconds",
        arguments: [
            ("HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nwait", "closed unacceptable-status"),
            ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "closed unacceptable-content-type"),
        ])
    func endlessRefusal(_ answer: String, _ word: String) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(answer)
            try await connection.closed
        }
        let clock = TestClock()
        let session = try makeSession()
        let (words, task) = follow(try session.eventSource(.raw(server.url()), clock: clock))
        #expect(try await clock.advanceToNextSleeper() == .seconds(10))
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(seen == [word])
        try await server.waitForConnections { $0.open == 0 }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("the error of an event source contains the body of a refusal")
    func refusalBody() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(status: .unauthorized, fields: [.contentType: "text/plain"], body: "log in")
        }
        var bodies: [[UInt8]] = []
        for await event in try source(server) {
            if case .error(let error, _) = event { bodies.append(error.bodyPrefix) }
        }
        #expect(bodies == [Array("log in".utf8)])
    }

    @Test("a wrong media type closes an event source even after an earlier stream was open")
    func refusedLater() async throws {
        let server = try await MockServer.start()
        server.enqueue(stream("data: a\n\n"), MockResponse(fields: [.contentType: "text/html"], body: "<p>"))
        let clock = TestClock()
        let (words, task) = follow(try source(server, clock: clock))
        try await clock.advanceToNextSleeper()
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(seen == ["open", "message a ", "error connection-lost", "closed unacceptable-content-type"])
    }

    @Test("the request of an event source accepts events, bypasses caches and sends the given identifier")
    func request() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .noContent))
        for await event in try source(server, lastEventID: "é1") { #expect(word(event) == "no event") }
        let request = await server.takeRequest()
        #expect(request?.fields[.accept] == "text/event-stream")
        // The Fetch standard, HTTP-network-or-cache fetch: the cache mode `no-store` sends `no-cache`.
        #expect(request?.fields[.cacheControl] == "no-cache")
        #expect(request?.fields[Self.lastEventID] == "é1")
    }

    @Test(
        "a wrong status or media type closes an event source at once",
        arguments: [
            (MockResponse(status: .internalServerError, body: "x"), "closed unacceptable-status"),
            (
                MockResponse(status: .created, fields: [.contentType: "text/event-stream"], body: "data: a\n\n"),
                "closed unacceptable-status"
            ),
            (MockResponse(fields: [.contentType: "text/html"], body: "<p>"), "closed unacceptable-content-type"),
            (
                MockResponse(fields: [.contentType: "text/event-stream-2"], body: "x"),
                "closed unacceptable-content-type"
            ),
            (MockResponse(body: "data: a\n\n"), "closed unacceptable-content-type"),
            (MockResponse(fields: [.contentType: "text/plain"]), "closed unacceptable-content-type"),
        ] as [(MockResponse, String)])
    func refused(_ response: MockResponse, expected: String) async throws {
        let server = try await MockServer.start { _ in response }
        var words: [String] = []
        for await event in try source(server) { words.append(word(event)) }
        #expect(words == [expected])
        await server.shutdown()
    }

    /// The events of a request's source as words, until it ends without a reconnection.
    private func words(
        _ request: CurlewRequest, reconnection: ServerSentEvent.ReconnectionPolicy = .init()
    ) async throws -> [String] {
        let clock = TestClock()
        let source = EventSource(try makeSession(), request, reconnection: reconnection, clock: clock)
        var words: [String] = []
        for await event in source {
            words.append(word(event))
            if words.last?.hasPrefix("error") == true { break }
        }
        return words
    }

    @Test("a 204 ends an event source without an error")
    func noContent() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .noContent) }
        #expect(try await words(try CurlewRequest(.get, server.url())) == [])
        #expect(server.requestCount == 1)
    }

    @Test(
        "an event source ends with its stream after a POST, and after any request if the policy requires it",
        arguments: [
            (.post, nil, true, false), (.post, true, true, true), (.get, nil, true, true), (.get, false, true, false),
            (.get, nil, false, false), (.post, true, false, false),
        ] as [(HTTPRequest.Method, Bool?, Bool, Bool)])
    func goodEnd(_ method: HTTPRequest.Method, _ mark: Bool?, _ policy: Bool, _ isAgain: Bool) async throws {
        let server = try await MockServer.start { _ in stream("data: a\n\n") }
        var request = try CurlewRequest(method, server.url())
        request.options.isIdempotent = mark
        let words = try await words(request, reconnection: .init(reconnectsAfterEnd: policy))
        #expect(words == ["open", "message a "] + (isAgain ? ["error connection-lost"] : []))
        #expect(server.requestCount == 1)
    }

    @Test(
        "a stream that breaks off closes an event source with a POST, unless the request is marked",
        arguments: [(.post, nil, "closed"), (.post, true, "error"), (.get, nil, "error")]
            as [(HTTPRequest.Method, Bool?, String)])
    func brokenStream(_ method: HTTPRequest.Method, _ mark: Bool?, _ word: String) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: a\n\n")
        }
        var request = try CurlewRequest(method, server.url())
        request.options.isIdempotent = mark
        let seen = try await words(request)
        #expect(seen.count == 3 && seen.last?.hasPrefix(word) == true, "\(seen)")
        #expect(server.accepted == 1)
    }

    @Test(
        "a POST of an event source is repeated if no connection was made, but not if it was lost before the head"
    )
    func lostPost() async throws {
        let server = try await RawServer.start { connection in _ = try await connection.readHead() }
        #expect(try await words(try CurlewRequest(.post, server.url())) == ["closed connection-lost"])
        #expect(server.accepted == 1)
        let refused = try RefusedPort.unused()
        #expect(try await words(try CurlewRequest(.post, refused.url())) == ["error connection-refused"])
    }

    @Test("the reconnection time doubles while connecting fails, up to its limit, and is reset by a stream")
    func backoff() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            if connection.index == 5 {
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
            }
        }
        let clock = TestClock()
        let session = try makeSession()
        let source = try session.eventSource(
            .raw(server.url()),
            reconnection: ServerSentEvent.ReconnectionPolicy(delay: .seconds(3), maximumDelay: .seconds(20)),
            clock: clock
        )
        let (words, task) = follow(source)
        var delays: [Duration] = []
        for _ in 0..<7 { delays.append(try await clock.advanceToNextSleeper()) }
        #expect(delays == [3, 6, 12, 20, 20, 3, 3].map { .seconds($0) })
        task.cancel()
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(
            Array(seen.prefix(8))
                == Array(repeating: "error connection-lost", count: 5) + [
                    "open", "message a ", "error connection-lost",
                ])
        await session.shutdown(deadline: .zero)
    }

    @Test("an event source closes after its limit of attempts")
    func attempts() async throws {
        let unused = try await MockServer.start()
        let url = unused.url()
        await unused.shutdown()
        let clock = TestClock()
        let source = try makeSession().eventSource(
            .raw(url), reconnection: ServerSentEvent.ReconnectionPolicy(attempts: 2), clock: clock)
        let task = Task {
            var words: [String] = []
            for await event in source { words.append(word(event)) }
            return words
        }
        try await clock.advanceToNextSleeper()
        #expect(await task.value == ["error connection-refused", "closed connection-refused"])
    }

    @Test("a line beyond the limit closes an event source")
    func endlessLine() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "text/event-stream"],
                body: .stream { writer in
                    while true { try await writer.write(String(repeating: "x", count: 1000)) }
                })
        }
        var source = try source(server)
        source.limits.line = 10_000
        var words: [String] = []
        for await event in source { words.append(word(event)) }
        #expect(words == ["open", "closed response-too-large"])
    }

    @Test("an identifier that is not a valid field value is not sent")
    func unsendable() async throws {
        let server = try await MockServer.start()
        server.enqueue(stream("id: a\u{1}b\ndata: a\n\n"), MockResponse(status: .noContent))
        let clock = TestClock()
        let source = try source(server, clock: clock)
        let task = Task { for await _ in source {} }
        try await clock.advanceToNextSleeper()
        await task.value
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.fields[Self.lastEventID] == nil)
    }

    @Test("cancellation ends an event source while it connects, while it is open and while it waits")
    func cancellation() async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            start.yield()
            if request.path == "/stalled" { try await untilCancelled() }
            return MockResponse(
                fields: [.contentType: "text/event-stream"],
                body: .stream { writer in
                    try await writer.write("data: a\n\n")
                    if request.path == "/open" { try await untilCancelled() }
                })
        }
        let session = try makeSession(baseURL: server.url())
        for path in ["stalled", "open", "waiting"] {
            let clock = TestClock()
            let (words, task) = follow(try session.eventSource(.raw(path), clock: clock))
            for await _ in started { break }
            switch path {
            case "open": for await word in words where word == "message a " { break }
            case "waiting": try await clock.waitForSleepers()
            default: break
            }
            task.cancel()
            await task.value
            var messages = 0
            for await word in words where word.hasPrefix("message") { messages += 1 }
            // The message of the open source has been read above.
            #expect(messages == (path == "waiting" ? 1 : 0))
        }
    }
}
