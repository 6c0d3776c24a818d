import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("A session and its tasks", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct SessionTests {
    private func stalledServer() async throws -> RawServer {
        try await RawServer.start { connection in try await connection.closed }
    }

    private func okServer() async throws -> MockServer { try await MockServer.start { _ in MockResponse(body: "ok") } }

    @Test("the number of running tasks is limited; the others wait in order")
    func inFlight() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.path == "/0" { for await _ in gate { break } }
            return MockResponse(body: "ok")
        }
        let session = try makeSession { $0.tasksInFlight = 1 }
        let actor = try #require(session.session)
        let tasks = try (0..<5).map { try actor.dataTask(CurlewRequest(.get, server.url("/\($0)"))) }
        tasks.forEach { $0.resume() }
        #expect(await actor.tasks().map(\.id) == tasks.map(\.id))
        open.yield()
        for task in tasks { _ = try await task.response().body.collect(upTo: 10) }
        for index in 0..<5 { #expect(await server.takeRequest()?.target == "/\(index)") }
        #expect(await actor.tasks().isEmpty)
    }

    @Test("a task that waits in the queue is ended by its total timeout")
    func queueTimeout() async throws {
        let server = try await stalledServer()
        let session = try makeSession { $0.tasksInFlight = 1 }
        let first = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        var options = RequestOptions()
        options.totalTimeout = .milliseconds(100)
        let error = await curlewError { _ = try await session.get(.raw(server.url()), options: options) }
        #expect(error?.code == .totalTimeout)
        #expect(error?.stage == .preparing)
        first.cancel()
        _ = await first.result
    }

    @Test(
        "a task suspended in the queue sends no request at its turn, and its total timeout runs",
        arguments: [true, false])
    func suspendedInQueue(resumes: Bool) async throws {
        let server = try await stalledServer()
        let other = try await okServer()
        let session = try makeSession { $0.tasksInFlight = 1 }
        let actor = try #require(session.session)
        let first = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        var request = try CurlewRequest(.get, other.url())
        if !resumes { request.options.totalTimeout = .milliseconds(300) }
        let second = try actor.dataTask(request)
        second.resume()
        second.suspend()
        #expect(await second.state == .suspended)
        first.cancel()
        _ = await first.result
        #expect(await actor.tasks().map(\.id) == [second.id])
        #expect(other.connectionCounts.accepted == 0)
        if resumes {
            second.resume()
            #expect(try await second.response().status == .ok)
        } else {
            #expect(await curlewError { _ = try await second.response() }?.code == .totalTimeout)
            #expect(other.connectionCounts.accepted == 0)
        }
    }

    @Test("shutdown waits for running tasks, refuses new ones, and closes every connection")
    func shutdown() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            start.yield()
            for await _ in gate { break }
            return MockResponse(body: "ok")
        }
        let session = try makeSession()
        let call = Task { try await session.fetch(server.url()) }
        for await _ in started { break }
        let end = Task { await session.shutdown() }
        try await eventually("the session refuses requests") { await refuses(session) }
        open.yield()
        #expect(try await call.value == Array("ok".utf8))
        await end.value
        try await server.waitForConnections(open: 0)
        await session.shutdown()
        await server.shutdown()
    }

    private func refuses(_ session: HTTPSession) async -> Bool {
        do {
            _ = try await session.get("http://127.0.0.1:1/")
        } catch let error as CurlewError {
            return error.code == .sessionInvalidated
        } catch {}
        return false
    }

    @Test("shutdown cancels the remaining tasks after its deadline")
    func deadline() async throws {
        let server = try await stalledServer()
        let session = try makeSession()
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        await session.shutdown(deadline: .milliseconds(50))
        #expect(await curlewError { _ = try await call.value }?.code == .sessionInvalidated)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("cancelling the task that awaits a shutdown cancels the remaining tasks, and the shutdown ends")
    func cancelledShutdown() async throws {
        let server = try await stalledServer()
        let session = try makeSession()
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        let shutdown = Task { await session.shutdown() }
        try await eventually("the session refuses requests") { await refuses(session) }
        #expect(await session.session?.tasks().count == 1)
        shutdown.cancel()
        await shutdown.value
        #expect(await session.session?.tasks().isEmpty == true)
        #expect(await session.session?.connectionCount() == 0)
        #expect(await curlewError { _ = try await call.value }?.code == .sessionInvalidated)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("a shutdown in a cancelled task does not wait")
    func shutdownAfterCancellation() async throws {
        let server = try await stalledServer()
        let session = try makeSession()
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        let shutdown = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await session.shutdown()
        }
        await shutdown.value
        #expect(await curlewError { _ = try await call.value }?.code == .sessionInvalidated)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("invalidating a session cancels its running tasks, or lets them end")
    func invalidate() async throws {
        let server = try await stalledServer()
        let session = try makeSession()
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        await session.session?.invalidate(cancelling: false)
        #expect(await session.session?.tasks().count == 1)
        await session.session?.invalidate(cancelling: true)
        #expect(await curlewError { _ = try await call.value }?.code == .sessionInvalidated)
        #expect(await curlewError { _ = try await session.get(.raw(server.url())) }?.code == .sessionInvalidated)
    }

    @Test("a dropped session ends by itself, after its tasks")
    func dropped() async throws {
        let server = try await okServer()
        weak var actor: SessionActor?
        func use() async throws -> CurlewResponse {
            let session = try makeSession()
            actor = session.session
            _ = try await session.fetch(server.url())
            return try await session.get(.raw(server.url()))
        }
        func read() async throws {
            #expect(try await use().body.collect(upTo: 10) == Array("ok".utf8))
        }
        try await read()
        try await eventually("the session's actor is gone") { actor == nil }
        try await server.waitForConnections(open: 0)
    }

    @Test("a thousand sessions leave no descriptors or threads behind")
    func thousand() async throws {
        let server = try await okServer()
        let loop = try CurlewEventLoop(name: "curlew-thousand")
        for _ in 0..<1000 {
            let session = try HTTPSession(eventLoops: [loop], chain: .bare)
            #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        }
        try await server.waitForConnections(open: 0)
    }

    @Test("sessions and loops may be released with running transfers")
    func tornDown() async throws {
        let server = try await endlessServer()
        for _ in 0..<20 {
            let session = try makeSession()
            let calls = (0..<5).map { _ in
                Task { for try await _ in try await session.get(.raw(server.url())).body {} }
            }
            try await server.waitForConnections { $0.open > 0 }
            await session.session?.invalidate(cancelling: true)
            for call in calls { #expect(await curlewError { try await call.value }?.code == .sessionInvalidated) }
        }
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("a session may use several loops")
    func severalLoops() async throws {
        let servers = [try await okServer(), try await okServer(), try await okServer()]
        let loops = [try CurlewEventLoop(), try CurlewEventLoop()]
        let session = try HTTPSession(eventLoops: loops, chain: .bare)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for index in 0..<60 { group.addTask { try await session.fetch(servers[index % 3].url()) } }
            for try await body in group { #expect(body == Array("ok".utf8)) }
        }
        await session.shutdown()
        for server in servers {
            try await server.waitForConnections(open: 0)
            await server.shutdown()
        }
    }

    @Test("a caller may run on the loop")
    func onLoop() async throws {
        let server = try await okServer()
        let session = try makeSession()
        let actor = try #require(session.session)
        let body = try await withTaskExecutorPreference(actor.eventLoop) { try await session.fetch(server.url()) }
        #expect(body == Array("ok".utf8))
    }

    @Test("every listener gets the session's events in order, and their stream ends with the session")
    func events() async throws {
        let server = try await okServer()
        let session = try makeSession()
        let actor = try #require(session.session)
        var first = actor.events.makeAsyncIterator()
        var second = actor.events.makeAsyncIterator()
        var options = RequestOptions()
        options.tag = "mine"
        let response = try await session.get(.raw(server.url()), options: options)
        _ = try await response.body.collect(upTo: 10)
        let refused = try RefusedPort.unused()
        _ = await curlewError { _ = try await session.get(.raw(refused.url())) }
        await session.shutdown()
        var kinds: [SessionEvent.Kind] = []
        while let event = await first.next() {
            kinds.append(event.kind)
            #expect(await second.next()?.kind == event.kind)
            if kinds == [.resumed, .completed] {
                #expect(event.task?.tag == "mine")
                #expect(event.error == nil)
                #expect(event.metrics?.last?.receivedBodyBytes == 2)
            }
            if kinds.count == 4 { #expect(event.error?.code == .connectionRefused) }
        }
        #expect(kinds == [.resumed, .completed, .resumed, .completed, .invalidated])
        #expect(await second.next() == nil)
        var late = actor.events.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("a configuration can be compared, encoded and decoded")
    func configuration() throws {
        var configuration = SessionConfiguration()
        configuration.timeouts.idle = .milliseconds(1500)
        configuration.connections.perHost = 3
        configuration.route.hosts = [ConnectionRoute.HostOverride(host: "a", port: 1, addresses: ["::1"])]
        configuration.security = .anchors(pem: "x")
        let copy = try decoded(configuration)
        #expect(copy == configuration)
        #expect(copy != SessionConfiguration())
    }
}
