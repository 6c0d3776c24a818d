import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Synchronization
import TestHelpers
import Testing

@Suite("The order of session events", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct EventTests {
    struct Bird: Codable, Sendable, Equatable { var name: String }

    private func birdServer() async throws -> MockServer {
        try await MockServer.start { request in
            switch request.path {
            case "/missing":
                return MockResponse(
                    status: .notFound, fields: [.contentType: "application/json"], body: #"{"name":"none"}"#)
            case "/broken": return MockResponse(fields: [.contentType: "application/json"], body: #"{"name":"#)
            case "/long":
                return MockResponse(fields: [.contentType: "text/plain"], body: .pattern(count: 4 << 20))
            default: return MockResponse(fields: [.contentType: "application/json"], body: #"{"name":"curlew"}"#)
            }
        }
    }

    /// The remaining events up to the session's end.
    private func rest(_ iterator: AsyncStream<SessionEvent>.AsyncIterator) async -> [SessionEvent] {
        var iterator = iterator
        var events: [SessionEvent] = []
        while let event = await iterator.next(isolation: #isolation) { events.append(event) }
        return events
    }

    @Test("the end event of a task has its response and metrics, and the serializer's event follows it")
    func serialized() async throws {
        let server = try await birdServer()
        let session = try makeSession()
        let actor = try #require(session.session)
        let listener = actor.events.makeAsyncIterator()
        let bird = try await session.get(.raw(server.url("/")), as: .json(Bird.self))
        #expect(bird == Bird(name: "curlew"))
        await session.shutdown()
        let events = await rest(listener)
        #expect(events.map(\.kind) == [.resumed, .completed, .serialized, .invalidated])
        let completed = try #require(events.dropFirst().first)
        #expect(completed.response?.status == .ok)
        #expect(completed.metrics?.receivedBodyBytes == 17)
        #expect(completed.serialization == nil && completed.error == nil)
        let serialized = events[2]
        #expect(serialized.task?.id == completed.task?.id)
        #expect(serialized.response?.status == .ok)
        #expect(serialized.serialization?.serializer == "JSONResponseSerializer<Bird>")
        #expect(serialized.serialization?.body == Array(#"{"name":"curlew"}"#.utf8))
        #expect(serialized.serialization?.bodySize == 17)
        #expect(serialized.serialization?.value as? Bird == bird)
        #expect(events[3].error == nil && events[3].task == nil)
    }

    @Test(
        "a serializer that refuses a response publishes an event with the bytes and the error",
        arguments: ["/missing", "/broken"])
    func refused(_ path: String) async throws {
        let server = try await birdServer()
        let session = try makeSession()
        let listener = try #require(session.session).events.makeAsyncIterator()
        let error = await curlewError { _ = try await session.get(.raw(server.url(path)), as: Bird.self) }
        await session.shutdown()
        let events = await rest(listener)
        #expect(events.map(\.kind) == [.resumed, .completed, .serialized, .invalidated])
        #expect(events[1].error == nil)
        #expect(events[2].error?.code == error?.code)
        #expect(events[2].error?.code == (path == "/missing" ? .unacceptableStatus : .decodingFailed))
        #expect(events[2].serialization?.value == nil)
        #expect(events[2].serialization?.body.starts(with: Array(#"{"name":"#.utf8)) == true)
    }

    @Test("a serializer that fails early publishes its event after the task's end, with the beginning of the body")
    func early() async throws {
        let server = try await birdServer()
        let session = try makeSession { $0.eventBodyLimit = 100 }
        let listener = try #require(session.session).events.makeAsyncIterator()
        var small = ResponseSerializers.Text()
        small.acceptance.bodyLimit = 1000
        let error = await curlewError { _ = try await session.get(.raw(server.url("/long")), as: small) }
        #expect(error?.code == .responseTooLarge)
        let bytes = try await session.get(.raw(server.url("/long")), as: ResponseSerializers.FoundationData())
        #expect(bytes.count == 4 << 20)
        await session.shutdown()
        let events = await rest(listener)
        let first = events.filter { $0.task?.id == events.first?.task?.id }
        let second = events.dropLast().filter { $0.task?.id != events.first?.task?.id }
        for own in [first, second] { #expect(own.map(\.kind) == [.resumed, .completed, .serialized]) }
        #expect(first[1].error?.code == .cancelled)
        #expect(first[2].error?.code == .responseTooLarge)
        #expect(second[2].serialization?.body == Array(bytes.prefix(100)))
        #expect(second[2].serialization?.bodySize == ByteSize(4 << 20))
    }

    @Test("custom and compound serializers publish one event, and a raw response publishes none")
    func otherSerializers() async throws {
        struct Status: ResponseSerializer {
            func serialize(_ response: CurlewResponse) async throws -> Int { response.status.code }
        }
        let server = try await birdServer()
        let session = try makeSession()
        let listener = try #require(session.session).events.makeAsyncIterator()
        #expect(try await session.get(.raw(server.url("/missing")), as: Status()) == 404)
        let compound = ResponseSerializers.Compound([
            JSONResponseSerializer<Int>().map { "\($0)" }, JSONResponseSerializer<Bird>().map(\.name),
        ])
        #expect(try await session.get(.raw(server.url("/")), as: compound) == "curlew")
        _ = try await session.get(.raw(server.url("/")), as: .raw).body.collect(upTo: 100)
        await session.shutdown()
        let told = await rest(listener).filter { $0.kind == .serialized }
        #expect(told.map(\.serialization?.serializer) == ["Status", "Compound<String>"])
        #expect(told.map { $0.serialization?.bodySize } == [0, 17])
        #expect(told.first?.serialization?.value as? Int == 404)
    }

    @Test(
        "the events of each of many tasks keep their order for all listeners, on one loop and on several",
        arguments: [1, 3])
    func order(loops: Int) async throws {
        var servers: [MockServer] = []
        for _ in 0..<6 { servers.append(try await birdServer()) }
        let session = try HTTPSession(
            eventLoops: (0..<loops).map { _ in try CurlewEventLoop(name: "curlew-test") }, chain: .bare)
        let actor = try #require(session.session)
        let first = actor.events.makeAsyncIterator()
        let second = actor.events.makeAsyncIterator()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<120 {
                let url = servers[index % 6].url("/")
                group.addTask {
                    if index.isMultiple(of: 3) {
                        _ = try await session.get(.raw(url), as: Bird.self)
                    } else {
                        let task = try actor.dataTask(CurlewRequest(.get, url))
                        task.resume()
                        for _ in 0..<(index % 5) {
                            task.suspend()
                            task.resume()
                        }
                        if index.isMultiple(of: 7) { task.cancel() }
                        _ = try? await task.response().body.collect(upTo: 100)
                    }
                }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
        let events = await rest(first)
        let others = await rest(second)
        #expect(
            events.map { "\($0.kind) \(String(describing: $0.task?.id))" }
                == others.map { "\($0.kind) \(String(describing: $0.task?.id))" })
        #expect(events.count { $0.kind == .completed } == 120)
        #expect(events.last?.kind == .invalidated)
        for (_, own) in Dictionary(grouping: events, by: \.task?.id) where own.first?.task != nil {
            expectOrder(own.map(\.kind))
        }
        for server in servers { await server.shutdown() }
    }

    /// Expects the order: resumed, suspended and resumed alternately, completed once, and then at most one serialized.
    private func expectOrder(_ kinds: [SessionEvent.Kind]) {
        let end = kinds.firstIndex(of: .completed) ?? kinds.endIndex
        for (index, kind) in kinds[..<end].enumerated() {
            #expect(kind == (index.isMultiple(of: 2) ? .resumed : .suspended), "\(kinds)")
        }
        #expect([[.completed], [.completed, .serialized]].contains(Array(kinds[end...])), "\(kinds)")
    }

    @Test("the session's end is published once, after the ends of all tasks that it cancelled", arguments: [1, 3])
    func cancelling(loops: Int) async throws {
        var servers: [RawServer] = []
        for _ in 0..<5 { servers.append(try await RawServer.start { connection in try await connection.closed }) }
        let session = try HTTPSession(
            eventLoops: (0..<loops).map { _ in try CurlewEventLoop(name: "curlew-test") }, chain: .bare)
        let actor = try #require(session.session)
        let listener = actor.events.makeAsyncIterator()
        let tasks = try servers.flatMap { server in
            try (0..<4).map { _ in try actor.dataTask(CurlewRequest(.get, server.url())) }
        }
        tasks.forEach { $0.resume() }
        for server in servers { try await server.waitForAccepted(1) }
        await actor.invalidate(cancelling: true)
        await actor.invalidate(cancelling: false)
        await actor.invalidate(cancelling: true)
        await session.shutdown()
        let events = await rest(listener)
        let kinds = events.map(\.kind)
        #expect(kinds.count == 41)
        #expect(kinds.prefix(20).allSatisfy { $0 == .resumed })
        #expect(kinds.dropFirst(20).prefix(20).allSatisfy { $0 == .completed })
        #expect(kinds.last == .invalidated)
        #expect(events.dropFirst(20).allSatisfy { $0.error?.code == .sessionInvalidated })
    }

    @Test(
        "a session that lets its tasks end publishes its own end after theirs, and refusals after that")
    func graceful() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(body: "ok")
        }
        let session = try makeSession()
        let actor = try #require(session.session)
        let listener = actor.events.makeAsyncIterator()
        let task = try actor.dataTask(CurlewRequest(.get, server.url()))
        task.resume()
        _ = await task.state
        await actor.invalidate(cancelling: false)
        open.yield()
        _ = try await task.response().body.collect(upTo: 10)
        for await progress in task.progress where progress.isFinished {}
        let refused = try actor.dataTask(CurlewRequest(.get, server.url()))
        refused.resume()
        #expect(await curlewError { _ = try await refused.response() }?.code == .sessionInvalidated)
        await session.shutdown()
        let events = await rest(listener)
        #expect(events.map(\.kind) == [.resumed, .completed, .invalidated, .resumed, .completed])
        #expect(events[2].error == nil)
        #expect(events[4].error?.code == .sessionInvalidated)
    }

    @Test("a task that was cancelled before its start has only an end event")
    func neverStarted() async throws {
        let session = try makeSession()
        let actor = try #require(session.session)
        let listener = actor.events.makeAsyncIterator()
        let task = try actor.dataTask(CurlewRequest(.get, "http://127.0.0.1:1/"))
        task.cancel()
        task.resume()
        _ = await curlewError { _ = try await task.response() }
        await session.shutdown()
        let events = await rest(listener)
        #expect(events.map(\.kind) == [.completed, .invalidated])
        #expect(events.first?.error?.code == .cancelled)
        #expect(events.first?.metrics?.start == nil)
    }

    @Test("a slow listener loses the oldest events, and receives the others in order")
    func slow() async throws {
        let server = try await birdServer()
        let session = try makeSession { $0.eventBufferSize = 5 }
        let listener = try #require(session.session).events.makeAsyncIterator()
        var last: TaskActor.Identifier?
        for _ in 0..<20 {
            let response = try await session.get(.raw(server.url("/")))
            _ = try await response.body.collect(upTo: 100)
            last = response.task?.id
        }
        await session.shutdown()
        let events = await rest(listener)
        #expect(events.map(\.kind) == [.resumed, .completed, .resumed, .completed, .invalidated])
        #expect(events[3].task?.id == last)
    }

    @Test("a dropped event may hold the last reference to the session")
    func holdingTheLast() async throws {
        let server = try await birdServer()
        func use() async throws -> AsyncStream<SessionEvent>.AsyncIterator {
            let session = try makeSession { $0.eventBufferSize = 1 }
            let listener = try #require(session.session).events.makeAsyncIterator()
            for _ in 0..<10 {
                let response = try await session.get(.raw(server.url("/")))
                _ = try await response.body.collect(upTo: 100)
                for await progress in try #require(response.task).progress where progress.isFinished {}
                // The loop publishes the end of the task in the turn of the last progress. A query of the task's state
                // waits for this turn.
                _ = await response.task?.state
            }
            return listener
        }
        let events = await rest(try await use())
        #expect(events.map(\.kind) == [.completed])
    }

    @Test("an invalidated session stays invalid, and a new one is created from its configuration")
    func renewal() async throws {
        let server = try await birdServer()
        let session = try makeSession { $0.rateLimit = RateLimit(sending: 1000) }
        let old = try #require(session.session)
        await old.invalidate(cancelling: true)
        _ = await curlewError { _ = try await session.get(.raw(server.url("/"))) }
        let renewed = try HTTPSession(configuration: old.configuration, eventLoops: [old.eventLoop], chain: .bare)
        #expect(try await renewed.get(.raw(server.url("/")), as: Bird.self) == Bird(name: "curlew"))
        #expect(renewed.session?.rateLimit == RateLimit(sending: 1000))
    }
}
