import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("An event source", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct EventSourceTests {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    /// The events of a request's source as words, until it ends without a reconnection.
    private func words(
        _ request: CurlewRequest, reconnection: ServerSentEvent.ReconnectionPolicy = .init()
    ) async throws -> [String] {
        let clock = TestClock()
        let source = EventSource(try makeSession(), request, reconnection: reconnection, clock: clock)
        var words: [String] = []
        for await event in source {
            words.append(event.word)
            if words.last?.hasPrefix("error") == true { break }
        }
        return words
    }

    @Test("the request of an event source accepts events, bypasses caches and sends the given identifier")
    func request() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .noContent))
        for await event in try server.eventSource(lastEventID: "é1") { #expect(event.word == "no event") }
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
        for await event in try server.eventSource() { words.append(event.word) }
        #expect(words == [expected])
        await server.shutdown()
    }

    @Test("the error of an event source contains the body of a refusal")
    func refusalBody() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(status: .unauthorized, fields: [.contentType: "text/plain"], body: "log in")
        }
        var bodies: [[UInt8]] = []
        for await event in try server.eventSource() {
            if case .error(let error, _) = event { bodies.append(error.bodyPrefix) }
        }
        #expect(bodies == [Array("log in".utf8)])
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
        let (words, task) = try session.eventSource(.raw(server.url()), clock: clock).follow()
        #expect(try await clock.advanceToNextSleeper() == .seconds(10))
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(seen == [word])
        try await server.waitForConnections { $0.open == 0 }
        await session.shutdown()
        await server.shutdown()
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
        let server = try await MockServer.start { _ in MockResponse.events("data: a\n\n") }
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

    @Test("a line beyond the limit closes an event source")
    func endlessLine() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "text/event-stream"],
                body: .stream { writer in
                    while true { try await writer.write(String(repeating: "x", count: 1000)) }
                })
        }
        var source = try server.eventSource()
        source.limits.line = 10_000
        var words: [String] = []
        for await event in source { words.append(event.word) }
        #expect(words == ["open", "closed response-too-large"])
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
            let (words, task) = try session.eventSource(.raw(path), clock: clock).follow()
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
