import CStalledResolver
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("The wait for a connection", .noLeaks, .timeLimit(.minutes(2)))
struct ConnectionWaitTests {
    /// A server that answers `/slow` when the gate opens, and other paths at once.
    private func gatedServer() async throws -> (MockServer, AsyncStream<Void>.Continuation) {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.path == "/slow" { for await _ in gate {} }
            return MockResponse(body: "ok")
        }
        return (server, opener)
    }

    private enum Bound: CaseIterable { case host, total }

    @Test(
        "a request that gets no connection in time fails with a separate code, and is not sent",
        arguments: Bound.allCases)
    private func limited(by bound: Bound) async throws {
        let (server, opener) = try await gatedServer()
        let session = try makeSession {
            if bound == .host { $0.connections.perHost = 1 } else { $0.connections.total = 1 }
            $0.timeouts.connectionWait = .milliseconds(150)
        }
        let first = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        let host = bound == .host ? "127.0.0.1" : "localhost"
        let second = try #require(session.session).dataTask(
            CurlewRequest(.post, "http://\(host):\(server.port)/", body: .string("x")))
        second.resume()
        let error = await curlewError { _ = try await second.response() }
        #expect(error?.code == .connectionWaitTimeout)
        #expect(error?.stage == .connecting)
        #expect(await second.metrics.last.map { $0.waited >= .milliseconds(150) } == true)
        #expect(server.requestCount == 1)
        opener.finish()
        #expect(try await first.value == Array("ok".utf8))
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
    }

    @Test("a request that waits to share a connection being opened has the wait limit, not the connect timeout")
    func joining() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession { $0.timeouts.connectionWait = .milliseconds(150) }
        let url = "https://127.0.0.1:\(server.port)/"
        let first = Task { try await session.fetch(url) }
        try await server.waitForAccepted(1)
        #expect(await curlewError { _ = try await session.fetch(url) }?.code == .connectionWaitTimeout)
        #expect(server.accepted == 1)
        first.cancel()
        #expect(await curlewError { _ = try await first.value }?.code == .cancelled)
    }

    @Test("connecting does not count as a wait for a connection")
    func connecting() async throws {
        let stalled = try StalledListener()
        let session = try makeSession {
            $0.timeouts.connectionWait = .milliseconds(50)
            $0.timeouts.connect = .milliseconds(300)
        }
        #expect(await curlewError { _ = try await session.fetch(stalled.url()) }?.code == .connectTimeout)
    }

    @Test("a host look-up does not count as a wait for a connection")
    func resolving() async throws {
        let session = try makeSession {
            $0.timeouts.connectionWait = .milliseconds(50)
            $0.timeouts.connect = .milliseconds(300)
        }
        let error = await curlewError { _ = try await session.fetch("http://wait.stalled.test/") }
        #expect(error?.code == .connectTimeout)
        await session.shutdown()
        curlew_release_lookups()
        try await eventually("no look-up stalls") { curlew_stalled_lookups() == 0 }
    }

    @Test("queueing in the session does not count as a wait for a connection")
    func queued() async throws {
        let (server, opener) = try await gatedServer()
        let session = try makeSession {
            $0.tasksInFlight = 1
            $0.timeouts.connectionWait = .milliseconds(50)
        }
        let first = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        let second = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        second.resume()
        try await letPass(.milliseconds(150))
        #expect(await second.state == .running)
        opener.finish()
        #expect(try await first.value == Array("ok".utf8))
        #expect(try await second.response().body.collect(upTo: 10) == Array("ok".utf8))
        for await progress in second.progress where progress.isFinished {}
        let attempt = try #require(await second.metrics.last)
        #expect(attempt.queued >= .milliseconds(150) && attempt.waited < attempt.queued)
    }

    @Test("the metrics separate the wait for a connection from queueing in the session")
    func figures() async throws {
        let (server, opener) = try await gatedServer()
        let session = try makeSession { $0.connections.perHost = 1 }
        let first = try #require(session.session).dataTask(CurlewRequest(.get, server.url("/slow")))
        first.resume()
        try await server.waitForRequests(1)
        let second = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        second.resume()
        try await letPass(.milliseconds(150))
        opener.finish()
        for task in [first, second] {
            #expect(try await task.response().body.collect(upTo: 10) == Array("ok".utf8))
            for await progress in task.progress where progress.isFinished {}
        }
        let waited = try #require(await second.metrics.last)
        let other = try #require(await first.metrics.last)
        #expect(waited.waited >= .milliseconds(150) && waited.queued < waited.waited)
        #expect(waited.isReused && waited.total >= waited.waited)
        #expect(other.waited < waited.waited)
    }

    @Test("a suspended task does not use up its wait limit")
    func suspended() async throws {
        let (server, opener) = try await gatedServer()
        let session = try makeSession {
            $0.connections.perHost = 1
            $0.timeouts.connectionWait = .milliseconds(200)
        }
        let first = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        let second = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        second.resume()
        second.suspend()
        try await letPass(.milliseconds(500))
        #expect(await second.state == .suspended)
        second.resume()
        #expect(await curlewError { _ = try await second.response() }?.code == .connectionWaitTimeout)
        opener.finish()
        #expect(try await first.value == Array("ok".utf8))
    }

    @Test("a request may wait without a limit")
    func unlimited() async throws {
        let (server, opener) = try await gatedServer()
        let session = try makeSession {
            $0.connections.perHost = 1
            $0.timeouts.connectionWait = .milliseconds(50)
        }
        let first = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        var request = try CurlewRequest(.get, server.url())
        request.options.connectionWaitTimeout = Timeouts.unlimited
        let second = try #require(session.session).dataTask(request)
        second.resume()
        try await letPass(.milliseconds(150))
        opener.finish()
        #expect(try await first.value == Array("ok".utf8))
        #expect(try await second.response().status == .ok)
    }
}
