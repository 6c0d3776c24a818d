import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("States, progress and body of a task", .endsServers, .timeLimit(.minutes(2)))
struct TaskTests {
    @Test("a task starts suspended, runs, and ends once")
    func states() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        let task = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        #expect(await task.state == .suspended)
        #expect(task.kind == .data)
        task.resume()
        task.resume()
        let response = try await task.response()
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        #expect(await task.state == .completed)
        #expect(await task.status == .ok)
        #expect(await curlewError { _ = try await task.response() }?.code == .responseAlreadyTaken)
    }

    @Test("a suspended task receives no bytes and has no idle timeout, and receives again when resumed")
    func suspend() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 8 << 20)) }
        let session = try makeSession { $0.timeouts.idle = .milliseconds(300) }
        let response = try await session.get(.raw(server.url()))
        let task = try #require(response.task)
        task.suspend()
        #expect(await task.state == .suspended)
        // Bytes read at the suspension are counted at the end of the loop's turn.
        try await session.letTurnsPass()
        let before = await task.currentProgress.received.wire
        // Two consecutive requests that stall show that the limit has elapsed.
        let stalled = try await RawServer.start { connection in try await connection.closed }
        for _ in 0..<2 {
            #expect(await curlewError { _ = try await session.get(.raw(stalled.url())) }?.code == .idleTimeout)
        }
        #expect(await task.currentProgress.received.wire == before)
        task.resume()
        #expect(try await response.body.collect(upTo: .mebibytes(8)).count == 8 << 20)
    }

    @Test("a suspended task sends no bytes of an upload")
    func suspendUpload() async throws {
        let server = try await MockServer.start { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
        let session = try makeSession()
        let body = CurlewRequest.Body.bytes(Array(repeating: 1, count: 32 << 20))
        let task = try #require(session.session).dataTask(CurlewRequest(.put, server.url(), body: body))
        for _ in 0..<50 {
            task.resume()
            task.suspend()
        }
        task.resume()
        let answer = try await task.response().body.collect(upTo: 100)
        #expect(answer == Array("\(32 << 20)".utf8))
    }

    @Test("progress begins with the current value, grows, and ends with one last element")
    func progress() async throws {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(body: .pattern(count: 4 << 20))
        }
        let session = try makeSession { $0.progressInterval = .milliseconds(1) }
        var request = try CurlewRequest(.put, server.url(), body: .bytes(Array(repeating: 1, count: 1 << 20)))
        request.options.tag = "p"
        let task = try #require(session.session).dataTask(request)
        let watcher = Task {
            var seen: [TaskProgress] = []
            for await progress in task.progress { seen.append(progress) }
            return seen
        }
        task.resume()
        _ = try await task.response().body.collect(upTo: .mebibytes(4))
        let seen = await watcher.value
        let last = try #require(seen.last)
        #expect(last.isFinished)
        #expect(seen.dropLast().allSatisfy { !$0.isFinished })
        #expect(last.sent.wire == 1 << 20 && last.sent.total == 1 << 20 && last.sent.fraction == 1)
        #expect(last.received.wire == 4 << 20 && last.received.total == 4 << 20)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.received.wire <= $1.received.wire })
        var late: [TaskProgress] = []
        for await progress in task.progress { late.append(progress) }
        #expect(late == [last])
    }

    @Test("progress of a body of unknown length has no total, and ends when the task fails")
    func progressUnknown() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }
        let session = try makeSession()
        let response = try await session.get(.raw(server.url()))
        _ = await curlewError { _ = try await response.body.collect(upTo: 100) }
        var last: TaskProgress?
        for await progress in try #require(response.task).progress { last = progress }
        #expect(last?.received.wire == 5)
        #expect(last?.received.total == nil)
        #expect(last?.isFinished == true)
    }

    @Test("cancelling the waiting task ends a wait for progress")
    func progressCancelled() async throws {
        let session = try makeSession()
        let task = try #require(session.session).dataTask(CurlewRequest(.get, "http://127.0.0.1:1/"))
        let watcher = Task { for await _ in task.progress {} }
        watcher.cancel()
        await watcher.value
        #expect(await task.state == .suspended)
    }

    @Test("a body is collected within its limit")
    func collect() async throws {
        let server = try await MockServer.start { request in
            request.path == "/stream"
                ? MockResponse(body: .stream { for _ in 0..<10 { try await $0.write("0123456789") } })
                : MockResponse(body: .pattern(count: 100))
        }
        let session = try makeSession()
        for path in ["/", "/stream"] {
            #expect(try await session.get(.raw(server.url(path))).body.collect(upTo: 100).count == 100)
            let error = await curlewError { _ = try await session.get(.raw(server.url(path))).body.collect(upTo: 99) }
            #expect(error?.code == .responseTooLarge)
        }
    }

    @Test("a body is read by lines and by bytes")
    func lines() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                body: .stream {
                    for part in ["on", "e\r\ntw", "o\n\n", "h\u{e9}", "\nlast"] { try await $0.write(part) }
                })
        }
        let session = try makeSession()
        var lines: [String] = []
        for try await line in try await session.get(.raw(server.url())).body.lines() { lines.append(line) }
        #expect(lines == ["one", "two", "", "h\u{e9}", "last"])
        var bytes: [UInt8] = []
        for try await byte in try await session.get(.raw(server.url())).body.bytes { bytes.append(byte) }
        #expect(bytes == Array("one\r\ntwo\n\nh\u{e9}\nlast".utf8))
        let error = await curlewError {
            for try await _ in try await session.get(.raw(server.url())).body.lines(upTo: 2) {}
        }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("a buffer smaller than one socket read does not delay a fast reader", arguments: [1, 16, 64])
    func smallBuffer(_ kibibytes: Int) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 4 << 20)) }
        let session = try makeSession { $0.bodyBufferSize = .kibibytes(kibibytes) }
        #expect(try await session.fetch(server.url()).count == 4 << 20)
    }

    @Test("a task whose response is not awaited is released, and ends when its body makes no progress")
    func unclaimed() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: request.path == "/big" ? .pattern(count: 64 << 20) : "small")
        }
        let session = try makeSession {
            $0.timeouts.idle = .milliseconds(200)
            $0.bodyBufferSize = .kibibytes(64)
        }
        let actor = try #require(session.session)
        for path in ["/small", "/big"] {
            weak var task: TaskActor?
            func run() async throws {
                let made = try actor.dataTask(CurlewRequest(.get, server.url(path)))
                made.resume()
                task = made
                for await progress in made.progress where progress.isFinished {}
                #expect(await made.state == (path == "/big" ? .failed : .completed))
            }
            try await run()
            try await eventually("the task is gone") { task == nil }
        }
    }

    @Test("64 MiB are streamed in pieces of limited size, and every byte is correct")
    func stream() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 64 << 20)) }
        let response = try await makeSession().get(.raw(server.url()))
        var count = 0
        for try await chunk in response.body {
            #expect(BytePattern.matches(chunk.prefix(8), at: count))
            #expect(chunk.count <= 1 << 20)
            count += chunk.count
        }
        #expect(count == 64 << 20)
    }
}
