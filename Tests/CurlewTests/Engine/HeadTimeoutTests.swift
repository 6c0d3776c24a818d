import CurlewTesting
import CurlewTestingTraits
import Dispatch
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The time limit for the head", .noLeaks, .timeLimit(.minutes(2)))
struct HeadTimeoutTests {
    private static let expected = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func session(head: Duration = .milliseconds(150), idle: Duration = .seconds(20)) throws -> HTTPSession {
        try makeSession {
            $0.timeouts.head = head
            $0.timeouts.idle = idle
        }
    }

    @Test("a request without an answer fails with a separate code", arguments: [false, true])
    func silent(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { request in
            if request.path == "/silent" { try await untilCancelled() }
            return MockResponse(body: "ok")
        }
        // The third request uses a pooled connection.
        for path in ["/silent", "/", "/silent"] {
            var options = RequestOptions()
            options.headTimeout = path == "/" ? nil : .milliseconds(150)
            if path == "/" {
                #expect(try await session.fetch(server.url(path), options: options) == Array("ok".utf8))
            } else {
                let error = await curlewError { _ = try await session.fetch(server.url(path), options: options) }
                #expect(error?.code == .headTimeout)
                #expect(error?.stage == .exchanging)
            }
        }
    }

    @Test("the idle timeout applies once an answer has begun")
    func begun() async throws {
        let answers = [
            "HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
        ]
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let number = head.split(separator: " ")[1].dropFirst()
            try await connection.write(answers[Int(number)!])
            try await connection.closed
        }
        // The limits are long, so that a busy machine answers in time; the requests wait concurrently.
        let session = try session(head: .seconds(5), idle: .seconds(7))
        let codes = await withTaskGroup(of: (Int, ErrorCode?).self) { group in
            for index in answers.indices {
                group.addTask {
                    (index, await curlewError { _ = try await session.fetch(server.url("/\(index)")) }?.code)
                }
            }
            return await group.reduce(into: [Int: ErrorCode?]()) { $0[$1.0] = $1.1 }
        }
        for index in answers.indices { #expect(codes[index] == .idleTimeout, "\(answers[index])") }
    }

    @Test("an answer that arrived in time is delivered even if the loop is too busy to read it before the limit")
    func busyLoop() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.expected)
            _ = try await connection.readHead()
            ask.yield()
            for await _ in gate {}
            try await connection.write(Self.expected)
            try await connection.closed
        }
        let session = try session(head: .milliseconds(400), idle: .milliseconds(400))
        // libcurl has no timers on a pooled connection, and so none that would make it read.
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let loop = try #require(session.session?.eventLoop)
        let fetch = Task { try await session.fetch(server.url()) }
        for await _ in asked { break }
        let held = DispatchSemaphore(value: 0)
        await withCheckedContinuation { isHeld in
            loop.core.execute {
                isHeld.resume()
                held.wait()
            }
        }
        opener.finish()
        try await letPass(.milliseconds(600))
        held.signal()
        #expect(try await fetch.value == Array("ok".utf8))
    }

    @Test("a slow server is awaited within the request's own limit")
    func longPoll() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            ask.yield()
            for await _ in gate {}
            return MockResponse(body: "ok")
        }
        let session = try session()
        var options = RequestOptions()
        options.headTimeout = Timeouts.unlimited
        let poll = Task { [options] in try await session.fetch(server.url(), options: options) }
        for await _ in asked { break }
        try await letPass(.milliseconds(400))
        opener.finish()
        #expect(try await poll.value == Array("ok".utf8))
    }

    @Test("the limit starts when the body has been sent")
    func uploading() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            _ = try await connection.readExactly(Array("1\r\nx\r\n0\r\n\r\n".utf8).count)
            if connection.index == 0 { try await connection.write(Self.expected) }
            try await connection.closed
        }
        let session = try session()
        for isAnswered in [true, false] {
            let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
            feed.yield(Array("x".utf8))
            let upload = Task { try await session.post(.raw(server.url()), .body(.once(chunks))).status }
            try await server.waitForAccepted(isAnswered ? 1 : 2)
            try await letPass(.milliseconds(400))
            feed.finish()
            if isAnswered {
                #expect(try await upload.value == .ok)
                await session.session?.closeIdleConnections()
            } else {
                #expect(await curlewError { _ = try await upload.value }?.code == .headTimeout)
            }
        }
    }

    @Test("100 (Continue) does not count as the answer")
    func expectation() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            _ = try await connection.readExactly(6)
            try await connection.closed
        }
        let session = try session()
        var options = RequestOptions()
        options.expectContinue = .seconds(20)
        let error = await curlewError {
            _ = try await session.put(.raw(server.url()), .body(.string("curlew")), options: options)
        }
        #expect(error?.code == .headTimeout)
    }

    @Test("the limit does not end a task that is suspended while it waits for the head", arguments: [false, true])
    func suspended(http2: Bool) async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (server, session) = try await serverAndSession(http2: http2) { _ in
            begin.yield()
            for await _ in gate {}
            return MockResponse(body: "ok")
        }
        var request = try CurlewRequest(.get, server.url())
        request.options.headTimeout = .milliseconds(1500)
        let task = try #require(session.session).dataTask(request)
        task.resume()
        for await _ in begun { break }
        task.suspend()
        try await letPass(.milliseconds(2000))
        #expect(await task.state == .suspended)
        opener.finish()
        task.resume()
        #expect(try await task.response().body.collect(upTo: 10) == Array("ok".utf8))
    }

    @Test("an attempt without an answer leaves the call time for another")
    func retried() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            if connection.index > 0 { try await connection.write(Self.expected) }
            try await connection.closed
        }
        var configuration = SessionConfiguration()
        configuration.timeouts.head = .milliseconds(150)
        let session = try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            quickRetry(2)
        }
        var options = RequestOptions()
        options.totalTimeout = .seconds(30)
        let response = try await session.get(.raw(server.url()), options: options)
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        #expect(response.attempts == 2)
        // A request that is not idempotent may have been processed.
        let other = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let error = await curlewError { _ = try await session.post(.raw(other.url()), .body(.string("x"))) }
        #expect(error?.code == .headTimeout && error?.attempts == 1)
    }

    @Test("the limit applies to the head of an event stream, but not to later silence")
    func events() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            if connection.index > 0 {
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            }
            try await connection.closed
        }
        let session = try session(idle: .milliseconds(100))
        var policy = ServerSentEvent.ReconnectionPolicy()
        policy.delay = .milliseconds(1)
        var events = try session.eventSource(.raw(server.url()), reconnection: policy).makeAsyncIterator()
        guard case .error(let error, isClosed: false) = await events.next() else {
            Issue.record("the head is awaited for ever")
            return
        }
        #expect(error.code == .headTimeout)
        guard case .open = await events.next() else {
            Issue.record("the stream is not open")
            return
        }
    }
}
