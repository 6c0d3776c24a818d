import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("The reconnections of an event source", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct EventSourceReconnectionTests {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    @Test("an event source reconnects from the last identifier, after the time that the server set")
    func reconnection() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            .events("retry: 1234\nid: 7\nevent: add\ndata: a\n\ndata: b"), .events("data: c\n\n"),
            MockResponse(status: .noContent))
        let clock = TestClock()
        let (words, task) = try server.eventSource(clock: clock).follow()
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

    @Test("the last identifier is updated at each empty line, with or without data, and never before")
    func identifiers() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            .events("id: 1\n\n"), .events("id: 2\ndata: cut off"), .events("id\n\n"), .events("id: 3\n\nid: 4\n"),
            MockResponse(status: .noContent))
        let clock = TestClock()
        let (words, task) = try server.eventSource(clock: clock, lastEventID: "0").follow()
        for _ in 0..<4 { #expect(try await clock.advanceToNextSleeper() == .seconds(3)) }
        await task.value
        for await word in words { #expect(!word.hasPrefix("message")) }
        var identifiers: [String?] = []
        for _ in 0..<5 { identifiers.append(await server.takeRequest()?.fields[Self.lastEventID]) }
        #expect(identifiers == ["0", "1", "1", nil, "3"])
    }

    @Test("an identifier that is not a valid field value is not sent")
    func unsendable() async throws {
        let server = try await MockServer.start()
        server.enqueue(.events("id: a\u{1}b\ndata: a\n\n"), MockResponse(status: .noContent))
        let clock = TestClock()
        let source = try server.eventSource(clock: clock)
        let task = Task { for await _ in source {} }
        try await clock.advanceToNextSleeper()
        await task.value
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.fields[Self.lastEventID] == nil)
    }

    @Test("a delay of any length lasts until the task is cancelled")
    func endlessDelay() async throws {
        let server = try await MockServer.start()
        server.enqueue(.events("data: a\n\n"))
        let endless = Duration.seconds(Int64.max)
        let source = try makeSession().eventSource(
            .raw(server.url()), reconnection: ServerSentEvent.ReconnectionPolicy(delay: endless, maximumDelay: endless))
        let (words, task) = source.follow()
        for await word in words where word == "error connection-lost" { break }
        task.cancel()
        await task.value
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
        let (_, task) = try session.eventSource(.raw(server.url()), clock: clock).follow()
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
        let empty = MockResponse.events("retry: 0\n: a comment\n\n")
        server.enqueue(empty, empty, empty, .events("data: a\n\n"), empty, empty, empty, empty)
        let clock = TestClock()
        let session = try makeSession()
        let source = try session.eventSource(
            .raw(server.url()), reconnection: ServerSentEvent.ReconnectionPolicy(attempts: 4), clock: clock)
        let (words, task) = source.follow()
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
        let (words, task) = source.follow()
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

    @Test("a wrong media type closes an event source even after an earlier stream was open")
    func refusedLater() async throws {
        let server = try await MockServer.start()
        server.enqueue(.events("data: a\n\n"), MockResponse(fields: [.contentType: "text/html"], body: "<p>"))
        let clock = TestClock()
        let (words, task) = try server.eventSource(clock: clock).follow()
        try await clock.advanceToNextSleeper()
        await task.value
        var seen: [String] = []
        for await word in words { seen.append(word) }
        #expect(seen == ["open", "message a ", "error connection-lost", "closed unacceptable-content-type"])
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
        let (words, task) = source.follow()
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
            for await event in source { words.append(event.word) }
            return words
        }
        try await clock.advanceToNextSleeper()
        #expect(await task.value == ["error connection-refused", "closed connection-refused"])
    }

    @Test("an event source closes if its clock fails")
    func brokenClock() async throws {
        let server = try await MockServer.start()
        server.enqueue(.events("data: a\n\n"))
        let source = try makeSession().eventSource(.raw(server.url()), clock: BrokenClock())
        var words: [String] = []
        for await event in source { words.append(event.word) }
        #expect(words == ["open", "message a ", "error connection-lost", "closed foreign-failure"])
    }
}
