import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Deadlines of a task's calls", .noLeaks, .timeLimit(.minutes(1)))
struct DeadlineTests {
    private static let field = HTTPField.Name("X-Deadline-Ms")!

    @Test("a call within a deadline ends at the deadline, or earlier at its own limit")
    func limits() async throws {
        let limits = Guarded<[Duration?]>([])
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            LimitNote { limit in limits.withLock { $0.append(limit) } }
        }
        var options = RequestOptions()
        options.totalTimeout = .milliseconds(5)
        try await withDeadline(.seconds(100)) {
            _ = try await session.get("http://a.test/")
            _ = try await session.get("http://a.test/", options: options)
            try await withDeadline(.seconds(1000)) { _ = try await session.get("http://a.test/") }
            try await withDeadline(.seconds(10)) { _ = try await session.get("http://a.test/") }
        }
        _ = try await session.get("http://a.test/")
        let noted = limits.withLock { $0 }
        #expect(noted.count == 5 && noted[1] == .milliseconds(5) && noted[4] == nil)
        for (index, bound) in [0: Duration.seconds(100), 2: .seconds(100), 3: .seconds(10)] {
            let limit = try #require(noted[index])
            #expect(limit <= bound && limit > bound - .seconds(9))
        }
    }

    @Test("a call that begins after its deadline is not sent")
    func passed() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare)
        let error = await withDeadline(.zero) { await curlewError { _ = try await session.get("http://a.test/x") } }
        #expect(error?.code == .deadlineExceeded && error?.uri?.path == "/x" && stub.received.isEmpty)
    }

    @Test("a call without an answer ends at its deadline")
    func silent() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let session = try makeSession()
        let error = await withDeadline(.milliseconds(300)) {
            await curlewError { _ = try await session.get(.raw(server.url())) }
        }
        #expect(error?.code == .totalTimeout)
    }

    @Test("child tasks inherit the deadline, detached tasks do not")
    func inheritance() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare)
        try await withDeadline(.zero) {
            async let child: ErrorCode? = curlewError { _ = try await session.get("http://a.test/") }?.code
            let task = Task { await curlewError { _ = try await session.get("http://a.test/") }?.code }
            let detached = Task.detached { try await session.get("http://a.test/").status }
            #expect(await child == .deadlineExceeded)
            #expect(await task.value == .deadlineExceeded)
            let status = try await detached.value
            #expect(status == .ok)
        }
    }

    @Test("the field of each attempt has the remaining milliseconds")
    func announced() async throws {
        let server = try await MockServer.start { request in
            MockResponse(status: request.connectionIndex == 0 && request.path == "/a" ? .serviceUnavailable : .ok)
        }
        let session = try makeSession { quickRetry(2) }
        try await withDeadline(.seconds(60), field: Self.field) {
            _ = try await session.get(.raw(server.url("/a")))
            try await withDeadline(.seconds(5)) { _ = try await session.get(.raw(server.url("/b"))) }
            _ = try await session.get(.raw(server.url("/c")), fields: [Self.field: "own"])
        }
        var texts: [String: [String]] = [:]
        while let request = await server.takeRequest() {
            texts[request.target, default: []].append(request.fields[Self.field] ?? "none")
            if request.target == "/c" { break }
        }
        let first = try #require(texts["/a"]).compactMap { Int($0) }
        #expect(first.count == 2 && first[0] <= 60_000 && first[1] <= first[0] && first[1] > 0)
        let inner = try #require(texts["/b"]).compactMap { Int($0) }
        #expect(inner.count == 1 && inner[0] <= 5000)
        #expect(texts["/c"] == ["own"])
    }

    @Test("a deadline does not extend the session's limit for an attempt")
    func sessionLimit() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let session = try makeSession { $0.timeouts.total = .milliseconds(300) }
        let error = await withDeadline(.seconds(60)) {
            await curlewError { _ = try await session.get(.raw(server.url())) }
        }
        #expect(error?.code == .totalTimeout && error?.message == "not finished within 300 ms")
    }

    @Test("an event stream ends at the deadline, and does not reconnect")
    func events() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            try await connection.closed
        }
        let session = try makeSession()
        let policy = ServerSentEvent.ReconnectionPolicy(delay: .milliseconds(1), minimumDelay: .milliseconds(1))
        let error = await withDeadline(.milliseconds(400)) {
            await curlewError {
                for try await _ in session.events(.raw(server.url()), reconnection: policy) {}
            }
        }
        #expect(error?.code == .deadlineExceeded)
    }

    @Test("a download does not wait for a retry beyond its deadline")
    func download() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(status: .serviceUnavailable, fields: [.retryAfter: "30"])
        }
        let folder = try ScratchFolder()
        let session = try makeSession()
        let error = await withDeadline(.seconds(5)) {
            await curlewError {
                _ = try await session.download(.raw(server.url()), to: .file(folder.file("f")), attempts: 3)
            }
        }
        #expect(error?.code == .unacceptableStatus && server.requestCount == 1)
    }

    @Test("a request that a deadline has limited has no limit when it is sent again later")
    func sentAgain() async throws {
        let limits = Guarded<[Duration?]>([])
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) {
            LimitNote { limit in limits.withLock { $0.append(limit) } }
        }
        let kept = Guarded<CurlewRequest?>(nil)
        let keeping = try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                kept.withLock { $0 = request }
                return try await next(request)
            }
        }
        try await withDeadline(.seconds(60)) { _ = try await keeping.get("http://a.test/") }
        _ = try await session.send(try #require(kept.withLock { $0 }))
        #expect(limits.withLock { $0 } == [nil])
    }

    @Test("calls within one deadline are coalesced like other calls")
    func coalesced() async throws {
        let gate = Gate()
        let server = try await MockServer.start { _ in
            try await gate.wait()
            return MockResponse(body: "x")
        }
        let link = Coalescing()
        let session = try makeSession { link }
        try await withDeadline(.seconds(60), field: Self.field) {
            async let first = session.get(.raw(server.url()), as: .text)
            async let second = session.get(.raw(server.url()), as: .text)
            try await eventually("both wait") { link.memberCount == 2 }
            gate.open()
            #expect(try await [first, second] == ["x", "x"])
        }
        #expect(server.requestCount == 1)
    }
}

/// A link that records the time limit of each request.
private struct LimitNote: CurlewMiddleware {
    let note: @Sendable (Duration?) -> Void

    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse {
        note(request.options.totalTimeout)
        return try await next(request)
    }
}
