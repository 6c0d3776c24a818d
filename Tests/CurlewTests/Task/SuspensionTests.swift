import CStalledResolver
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Suspension of a task in every state", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct SuspensionTests {
    private func task(
        _ session: HTTPSession, _ url: String, method: HTTPRequest.Method = .get, body: CurlewRequest.Body = .none,
        _ adjust: (inout RequestOptions) -> Void = { _ in }
    ) throws -> TaskActor {
        var request = try CurlewRequest(method, url, body: body)
        adjust(&request.options)
        return try #require(session.session).dataTask(request)
    }

    @Test("suspending a task before its start delays it, and after its end has no effect")
    func ends() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let session = try makeSession()
        let task = try task(session, server.url())
        task.suspend()
        task.suspend()
        #expect(await task.state == .suspended)
        task.resume()
        #expect(try await task.response().body.collect(upTo: 10) == Array("ok".utf8))
        task.suspend()
        #expect(await task.state == .completed)
        #expect(await task.metrics.suspended == .zero)
    }

    @Test("a task suspended during its host look-up still has its total timeout")
    func resolving() async throws {
        let session = try makeSession()
        let task = try task(session, "http://suspended.stalled.test/") { $0.totalTimeout = .milliseconds(300) }
        task.resume()
        try await eventually("the look-up stalls") { curlew_stalled_lookups() > 0 }
        task.suspend()
        #expect(await task.state == .suspended)
        task.resume()
        task.suspend()
        #expect(await curlewError { _ = try await task.response() }?.code == .totalTimeout)
        await session.shutdown()
        curlew_release_lookups()
        try await eventually("no look-up stalls") { curlew_stalled_lookups() == 0 }
    }

    @Test("a task suspended while it connects still has its connect and total timeouts", arguments: [true, false])
    func connecting(byTotal: Bool) async throws {
        let stalled = try StalledListener()
        let session = try makeSession()
        let task = try task(session, stalled.url()) {
            if byTotal { $0.totalTimeout = .milliseconds(200) } else { $0.connectTimeout = .milliseconds(200) }
        }
        task.resume()
        task.suspend()
        #expect(await task.state == .suspended)
        let code = await curlewError { _ = try await task.response() }?.code
        #expect(code == (byTotal ? .totalTimeout : .connectTimeout))
        #expect(await task.metrics.suspended > .zero)
    }

    @Test("a task can be suspended during the TLS handshake, and resumes afterwards")
    func handshaking() async throws {
        let silent = try await RawServer.start { connection in try await connection.closed }
        let (server, session) = try await serverAndSession(http2: true) { _ in MockResponse(body: "ok") }
        let stuck = try task(session, "https://127.0.0.1:\(silent.port)/") { $0.connectTimeout = .milliseconds(200) }
        stuck.resume()
        try await silent.waitForAccepted(1)
        stuck.suspend()
        #expect(await curlewError { _ = try await stuck.response() }?.code == .connectTimeout)
        for _ in 0..<20 {
            await session.session?.closeIdleConnections()
            let task = try task(session, server.url())
            task.resume()
            task.suspend()
            _ = await task.state
            task.resume()
            #expect(try await task.response().body.collect(upTo: 10) == Array("ok".utf8))
        }
    }

    @Test("a task suspended while it waits for 100 (Continue) sends its body only after it is resumed")
    func awaitingContinue() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            ask.yield()
            for await _ in gate { break }
            try await connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try await connection.flush()
            ask.yield()
            let body = try await connection.readExactly(6)
            try await connection.write(
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n" + String(decoding: body, as: UTF8.self))
        }
        let session = try makeSession { $0.timeouts.idle = .milliseconds(500) }
        let task = try task(session, server.url(), method: .put, body: .string("curlew")) {
            $0.expectContinue = .seconds(100)
        }
        task.resume()
        for await _ in asked { break }
        task.suspend()
        #expect(await task.state == .suspended)
        open.yield()
        for await _ in asked { break }
        try await session.letIdleLimitPass()
        #expect(await task.currentProgress.sent.wire == 0)
        task.resume()
        #expect(try await task.response().body.collect(upTo: 10) == Array("curlew".utf8))
    }

    @Test("a task suspended while it sends stops sending, and its idle timeout is stopped", arguments: [false, true])
    func sending(http2: Bool) async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (server, session) = try await serverAndSession(http2: http2, idle: .milliseconds(500)) {
            request in
            var count = 0
            for try await chunk in request.body {
                if count == 0 { begin.yield() }
                count += chunk.count
            }
            return MockResponse(body: .string("\(count)"))
        }
        let body = CurlewRequest.Body.bytes(Array(repeating: 1, count: 64 << 20))
        let task = try task(session, server.url(), method: .put, body: body)
        task.resume()
        for await _ in begun { break }
        task.suspend()
        #expect(await task.state == .suspended)
        try await session.letTurnsPass()
        let before = await task.currentProgress.sent.wire
        #expect(before < 64 << 20)
        try await session.letIdleLimitPass()
        #expect(await task.currentProgress.sent.wire == before)
        task.resume()
        #expect(try await task.response().body.collect(upTo: 100) == Array("\(64 << 20)".utf8))
        #expect(await task.metrics.suspended > .zero)
    }

    @Test("a task suspended while it waits for a response is not ended by the idle timeout", arguments: [false, true])
    func awaitingAnswer(http2: Bool) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (server, session) = try await serverAndSession(http2: http2, idle: .milliseconds(500)) {
            _ in
            begin.yield()
            for await _ in gate { break }
            return MockResponse(body: "ok")
        }
        let task = try task(session, server.url())
        task.resume()
        for await _ in begun { break }
        task.suspend()
        try await session.letIdleLimitPass()
        #expect(await task.state == .suspended)
        open.yield()
        task.resume()
        #expect(try await task.response().body.collect(upTo: 10) == Array("ok".utf8))
    }

    @Test(
        "a task suspended while it receives stops reading, with and without a waiting reader",
        arguments: [false, true],
        [false, true])
    func receiving(http2: Bool, reads: Bool) async throws {
        let (server, session) = try await serverAndSession(
            http2: http2, idle: .milliseconds(500), bodyBuffer: .kibibytes(64)
        ) { _ in
            MockResponse(body: .pattern(count: 8 << 20))
        }
        let response = try await session.get(.raw(server.url()))
        let task = try #require(response.task)
        var bytes: [UInt8] = []
        var body = response.body.makeAsyncIterator()
        if reads { bytes += try #require(try await body.next()) }
        task.suspend()
        #expect(await task.state == .suspended)
        try await session.letTurnsPass()
        let before = await task.currentProgress.received.wire
        // The bytes received before can be read, and no more follow.
        while bytes.count < before { bytes += try #require(try await body.next()) }
        try await session.letIdleLimitPass()
        #expect(await task.currentProgress.received.wire == before)
        #expect(bytes.count == before)
        task.resume()
        while let chunk = try await body.next() { bytes += chunk }
        #expect(bytes == BytePattern.bytes(count: 8 << 20))
    }

    @Test("a task can be suspended before its response is awaited", arguments: [false, true])
    func unclaimed(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { _ in
            MockResponse(body: .pattern(count: 4 << 20))
        }
        let task = try task(session, server.url())
        task.resume()
        task.suspend()
        _ = await task.state
        try await session.letTurnsPass()
        #expect(await task.currentProgress.received.wire <= 1 << 20)
        let response = Task { try await task.response() }
        task.resume()
        #expect(try await response.value.body.collect(upTo: .mebibytes(4)) == BytePattern.bytes(count: 4 << 20))
    }

    @Test("the total timeout ends suspended tasks", arguments: [false, true])
    func total(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { _ in
            MockResponse(body: .pattern(count: 8 << 20))
        }
        var options = RequestOptions()
        options.totalTimeout = .milliseconds(400)
        let response = try await session.get(.raw(server.url()), options: options)
        response.task?.suspend()
        #expect(response.status == .ok && response.contentLength == 8 << 20)
        var count = 0
        let error = await curlewError { for try await chunk in response.body { count += chunk.count } }
        #expect(error?.code == .totalTimeout, "after \(count) bytes")
        // The bytes are those received before, up to the size of the buffers.
        #expect(count < 2 << 20)
        try await session.expectUsable()
    }

    @Test("a task suspended and resumed many times in both directions transfers every byte", arguments: [false, true])
    func often(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { request in
            MockResponse(body: .stream(request.body))
        }
        let bytes = BytePattern.bytes(count: 8 << 20)
        let task = try task(session, server.url(), method: .post, body: .bytes(bytes))
        let steering = Task {
            while !Task.isCancelled {
                task.suspend()
                _ = await task.state
                task.resume()
                _ = await task.state
            }
        }
        task.resume()
        let response = try await task.response()
        #expect(try await response.body.collect(upTo: .mebibytes(8)) == bytes)
        steering.cancel()
        await steering.value
        #expect(await task.state == .completed)
    }

    @Test("a task that is suspended and cancelled at once ends", arguments: [false, true])
    func racing(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { _ in
            MockResponse(body: .pattern(count: 1 << 20))
        }
        for round in 0..<100 {
            let task = try task(session, server.url())
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for _ in 0..<10 { task.resume() } }
                group.addTask { for _ in 0..<10 { task.suspend() } }
                group.addTask {
                    for _ in 0..<(round % 10) { await Task.yield() }
                    task.cancel()
                }
                group.addTask { _ = try? await task.response() }
            }
            var last: TaskProgress?
            for await progress in task.progress { last = progress }
            #expect(last?.isFinished == true)
            #expect(await task.state.isEnd)
        }
        #expect(await session.session?.tasks().isEmpty == true)
        try await session.expectUsable()
    }
}
