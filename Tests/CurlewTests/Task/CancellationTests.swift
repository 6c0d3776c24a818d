import CStalledResolver
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite(
    "Cancellation of a task in every state",
    .noLeaks, .noLongTurns, .timeLimit(.minutes(2))
)
struct CancellationTests {
    @Test("a task can be cancelled before it starts")
    func suspended() async throws {
        let session = try makeSession()
        let task = try #require(session.session).dataTask(CurlewRequest(.get, "http://127.0.0.1:1/"))
        task.cancel()
        task.cancel()
        task.resume()
        let error = await curlewError { _ = try await task.response() }
        #expect(error?.code == .cancelled)
        #expect(await task.state == .cancelled)
    }

    @Test("a task can be cancelled in the session's queue, and leaves it")
    func queued() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession { $0.tasksInFlight = 1 }
        let actor = try #require(session.session)
        let tasks = try (0..<3).map { _ in try actor.dataTask(CurlewRequest(.get, server.url())) }
        tasks.forEach { $0.resume() }
        try await server.waitForAccepted(1)
        tasks[1].cancel()
        #expect(await curlewError { _ = try await tasks[1].response() }?.code == .cancelled)
        #expect(await actor.tasks().map(\.id) == [tasks[0].id, tasks[2].id])
        tasks[0].cancel()
        try await server.waitForAccepted(2)
        tasks[2].cancel()
        #expect(await curlewError { _ = try await tasks[2].response() }?.code == .cancelled)
        try await session.expectUsable()
    }

    @Test("a task can be cancelled during its host look-up, without blocking the loop")
    func resolving() async throws {
        let session = try makeSession()
        let call = Task { try await session.get("http://cancelled.stalled.test/") }
        try await eventually("the look-up stalls") { curlew_stalled_lookups() > 0 }
        try await session.expectUsable()
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        let error = await curlewError {
            var options = RequestOptions()
            options.connectTimeout = .milliseconds(100)
            _ = try await session.get("http://timed-out.stalled.test/", options: options)
        }
        #expect(error?.code == .connectTimeout)
        try await session.expectUsable()
        await session.shutdown()
        try await eventually("both look-ups stall") { curlew_stalled_lookups() >= 2 }
        curlew_release_lookups()
        try await eventually("no look-up stalls") { curlew_stalled_lookups() == 0 }
    }

    @Test("a task can be cancelled while it connects")
    func connecting() async throws {
        let stalled = try StalledListener()
        let session = try makeSession()
        let task = try #require(session.session).dataTask(CurlewRequest(.get, stalled.url()))
        task.resume()
        #expect(await task.state == .running)
        task.cancel()
        #expect(await curlewError { _ = try await task.response() }?.code == .cancelled)
        #expect(await session.session?.connectionCount() == 0)
    }

    @Test("a task can be cancelled while it sends")
    func sending() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            _ = try await connection.drain()
        }
        let session = try makeSession()
        let body = CurlewRequest.Body.stream { BytePattern.endless }
        let call = Task { try await session.put(.raw(server.url()), .body(body)) }
        try await server.waitForAccepted(1)
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("cancelling the Swift task that awaits a response cancels the request")
    func waiting() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession()
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForAccepted(1)
        call.cancel()
        #expect(await curlewError { _ = try await call.value }?.code == .cancelled)
        try await server.waitForConnections { $0.open == 0 }
        #expect(await session.session?.tasks().isEmpty == true)
    }

    @Test("cancelling the Swift task that reads a body cancels the request")
    func receiving() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
            try await connection.closed
        }
        let session = try makeSession()
        let (started, signal) = AsyncStream.makeStream(of: Void.self)
        let call = Task {
            for try await _ in try await session.get(.raw(server.url())).body { signal.yield() }
        }
        for await _ in started { break }
        call.cancel()
        #expect(await curlewError { try await call.value }?.code == .cancelled)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("a task can be cancelled while its slow reader holds up the body")
    func paused() async throws {
        let server = try await endlessServer()
        let session = try makeSession { $0.bodyBufferSize = .kibibytes(64) }
        let response = try await session.get(.raw(server.url()))
        response.task?.cancel()
        let error = await curlewError { for try await _ in response.body {} }
        #expect(error?.code == .cancelled)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("cancelling a task after its end has no effect")
    func done() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let response = try await makeSession().get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        let task = try #require(response.task)
        task.cancel()
        task.suspend()
        task.resume()
        #expect(await task.state == .completed)
    }

    @Test(
        "an unread or partly read body frees its connection when it is dropped", arguments: [false, true])
    func dropped(readsPart: Bool) async throws {
        let server = try await endlessServer()
        let session = try makeSession()
        func use() async throws {
            let response = try await session.get(.raw(server.url()))
            if readsPart { for try await _ in response.body { break } }
        }
        try await use()
        try await server.waitForConnections { $0.open == 0 }
        try await session.expectUsable()
    }

    @Test("a reader that stops permanently is ended by the total timeout, in limited memory")
    func stoppedReader() async throws {
        let server = try await endlessServer()
        let session = try makeSession {
            $0.timeouts.total = .milliseconds(400)
            $0.bodyBufferSize = .kibibytes(128)
        }
        let response = try await session.get(.raw(server.url()))
        try await server.waitForConnections { $0.open == 0 }
        var read = 0
        let error = await curlewError { for try await chunk in response.body { read += chunk.count } }
        #expect(error?.code == .totalTimeout)
        #expect(read <= 256 << 10)
    }
}

/// A server that sends an endless body as fast as the client reads.
func endlessServer() async throws -> RawServer {
    try await RawServer.start { connection in
        _ = try await connection.readHead()
        try await connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
        while true { try await connection.write(chunk) }
    }
}

extension BytePattern {
    /// Endless chunks.
    static var endless: AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { BytePattern.bytes(count: 65_536) }
    }
}
