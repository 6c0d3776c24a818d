import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The reuse of connections", .keepsToPool, .endsServers, .timeLimit(.minutes(2)))
struct ReuseTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test("consecutive requests share a connection, and the metrics report it")
    func keepAlive() async throws {
        let server = try await RawServer.start { connection in
            while true {
                _ = try await connection.readHead()
                try await connection.write(Self.ok)
            }
        }
        let session = try makeSession()
        for index in 0..<5 {
            let response = try await session.get(.raw(server.url()))
            _ = try await response.body.collect(upTo: 10)
            let metrics = await response.task?.metrics
            #expect(metrics?.last?.isReused == (index > 0))
            #expect(metrics?.last?.version == .http11)
            #expect(metrics?.last?.remoteAddress == "127.0.0.1")
        }
        #expect(server.accepted == 1)
        #expect(await session.session?.connectionCount() == 1)
        await session.session?.closeIdleConnections()
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("a connection with HTTP/1.0 is not reused, because its next request would have this version")
    func oldVersion() async throws {
        let heads = Guarded<[String]>([])
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write(
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok")
            _ = try await connection.drain()
        }
        let session = try makeSession()
        for index in 1...3 {
            let response = try await session.get(.raw(server.url()))
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
            #expect(server.accepted == index)
        }
        #expect(heads.withLock { $0.allSatisfy { $0.contains(" HTTP/1.1\r\n") } })
    }

    @Test(
        "the connection of a request with Connection: close is not reused",
        arguments: ["close", "Close", "x-option, close", "close,x-option"])
    func closes(_ value: String) async throws {
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                if head.contains("Content-Length: 4") { _ = try await connection.readExactly(4) }
                // The server closes the connection later than the next request is sent.
                try await connection.write(Self.ok)
            }
        }
        let session = try makeSession()
        for index in 1...5 {
            let response = try await session.post(
                .raw(server.url()), .body(.string("body")), fields: [.connection: value])
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
            #expect(server.accepted == index)
        }
        try await server.waitForConnections { $0.open == 0 }
        for value in ["closed", "x-close", "keep-alive"] {
            _ = try await session.post(.raw(server.url()), .body(.string("body")), fields: [.connection: value])
                .body.collect(upTo: 10)
        }
        #expect(server.accepted == 6)
    }

    @Test(
        "a misdirected request is repeated once on a new connection",
        arguments: [HTTPRequest.Method.get, .post], [false, true])
    func misdirected(_ method: HTTPRequest.Method, _ isMisdirectedTwice: Bool) async throws {
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                if head.contains("Content-Length: 4") { _ = try await connection.readExactly(4) }
                let isMisdirected = connection.index == 0 || isMisdirectedTwice
                try await connection.write(
                    isMisdirected ? "HTTP/1.1 421 No\r\nContent-Length: 4\r\n\r\nelse" : Self.ok)
            }
        }
        let session = try makeSession()
        let body: CurlewRequest.Body = method == .post ? .string("body") : .none
        let response = try await session.send(method, .raw(server.url()), .body(body))
        #expect(response.status.code == (isMisdirectedTwice ? 421 : 200))
        #expect(try await response.body.collect(upTo: 10) == Array((isMisdirectedTwice ? "else" : "ok").utf8))
        #expect(server.accepted == 2)
        #expect(response.attempts == 1)
    }

    @Test("a misdirected request with a single-use body returns its 421")
    func misdirectedOnce() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            // The first byte shows that the body is being sent: an unsent request could use another connection.
            _ = try await connection.readExactly(1)
            try await connection.write("HTTP/1.1 421 No\r\nContent-Length: 4\r\n\r\nelse")
            _ = try await connection.drain()
        }
        let session = try makeSession()
        let response = try await session.post(.raw(server.url()), .body(oneShot("body")))
        #expect(response.status.code == 421)
        #expect(server.accepted == 1)
    }

    @Test(
        "bytes that arrive on an idle connection are never used as the next response",
        arguments: [
            "HTTP/1.1 666 Evil\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n", "x",
        ])
    func strayAnswer(_ stray: String) async throws {
        let (strayed, signal) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            // The chunked body ends with an empty line too.
            if connection.index > 0 { _ = try await connection.readHead() }
            try await connection.write(Self.ok)
            if connection.index == 0 {
                // The client has read its answer when it requests this one.
                for await _ in strayed { break }
                try await connection.write(stray)
                try await connection.flush()
                signalWritten.yield()
                try await connection.closed
            }
        }
        let session = try makeSession()
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        signal.yield()
        for await _ in written { break }
        // A single-use body is sent too, because no byte of it had been read.
        let body = CurlewRequest.Body.once(
            AsyncStream<[UInt8]> {
                $0.yield([1, 2, 3])
                $0.finish()
            })
        let response = try await session.post(.raw(server.url()), .body(body))
        #expect(response.status == .ok)
        #expect(server.accepted == 2)
        // The body is read first, because the metrics of an attempt are complete only after its end.
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        // The pool has noticed the closed connection, so there is no attempt on it.
        #expect(await response.task?.metrics.attempts.count == 1)
    }

    private let written: AsyncStream<Void>
    private let signalWritten: AsyncStream<Void>.Continuation

    init() { (written, signalWritten) = AsyncStream.makeStream(of: Void.self) }

    /// A server that answers the first request of a connection and closes it after the head of the second.
    private func dyingServer() async throws -> RawServer {
        try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.ok)
            _ = try await connection.readHead()
            if connection.index > 0 { try await connection.write(Self.ok) }
        }
    }

    @Test(
        "an idempotent request that failed on a pooled connection is sent once more",
        arguments: ["GET", "PUT", "DELETE", "QUERY"])
    func idempotent(_ method: String) async throws {
        let server = try await dyingServer()
        let session = try makeSession()
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let body: CurlewRequest.Body = ["PUT", "QUERY"].contains(method) ? .bytes([1, 2, 3]) : .none
        let response = try await session.send(HTTPRequest.Method(method)!, .raw(server.url()), .body(body))
        #expect(response.status == .ok)
        #expect(server.accepted == 2)
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        #expect(await response.task?.metrics.attempts.count == 2)
    }

    @Test("a POST or PATCH that failed on a pooled connection is not sent again", arguments: ["POST", "PATCH"])
    func notIdempotent(_ method: String) async throws {
        let server = try await dyingServer()
        let session = try makeSession()
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let error = await curlewError {
            _ = try await session.send(HTTPRequest.Method(method)!, .raw(server.url()), .body(.bytes([1, 2, 3])))
        }
        #expect(error?.code == .connectionLost)
        try await session.expectUsable()
    }

    @Test("an explicit idempotence option of a request overrides its method", arguments: ["POST", "GET"])
    func marked(_ method: String) async throws {
        let server = try await dyingServer()
        let session = try makeSession()
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        var options = RequestOptions()
        options.isIdempotent = method == "POST"
        if method == "POST" {
            let response = try await session.post(.raw(server.url()), .body(.bytes([1, 2, 3])), options: options)
            #expect(response.status == .ok)
            #expect(await response.task?.metrics.attempts.count == 2)
        } else {
            let error = await curlewError { _ = try await session.get(.raw(server.url()), options: options) }
            #expect(error?.code == .connectionLost)
        }
        try await session.expectUsable()
    }

    @Test("a PUT with a single-use body that failed on a pooled connection is not sent again")
    func bodyReadOnce() async throws {
        let server = try await dyingServer()
        let session = try makeSession()
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let body = CurlewRequest.Body.once(
            length: 3,
            AsyncStream<[UInt8]> {
                $0.yield([1, 2, 3])
                $0.finish()
            })
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(body)) }
        #expect(error?.code == .connectionLost || error?.code == .bodyNotReplayable)
    }

    @Test("an empty body, and a HEAD after it, keep the connection")
    func emptyBody() async throws {
        let server = try await MockServer.start { request in
            MockResponse(fields: [.allow: request.fields[.contentLength] ?? "none"], body: "ok")
        }
        let session = try makeSession()
        for _ in 0..<2 {
            let posted = try await session.post(.raw(server.url()), .body(.bytes([])))
            #expect(posted.fields[.allow] == "0")
            _ = try await posted.body.collect(upTo: 10)
            let bare = try await session.put(.raw(server.url()), .body(.none))
            #expect(bare.fields[.allow] == "0")
            _ = try await bare.body.collect(upTo: 10)
            let uploaded = try await session.post(.raw(server.url()), .body(.bytes([1])))
            _ = try await uploaded.body.collect(upTo: 10)
            let head = try await session.head(.raw(server.url()))
            #expect(head.fields[.allow] == "none")
            #expect(try await head.body.collect(upTo: 10) == [])
        }
        for method in ["POST", "PUT", "POST", "HEAD"] { #expect(await server.takeRequest()?.method.rawValue == method) }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("idle connections are closed after their lifetime")
    func idleLifetime() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.ok)
            try await connection.closed
        }
        let session = try makeSession { $0.connections.idleLifetime = .milliseconds(50) }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        try await server.waitForConnections { $0.open == 0 && $0.accepted == 1 }
        try await session.expectUsable()
    }

    @Test("a host gets no more connections than allowed, and waiting requests are served in order")
    func perHost() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession { $0.connections.perHost = 2 }
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<40 { group.addTask { try await session.fetch(server.url()) } }
            for try await body in group { #expect(body == Array("ok".utf8)) }
        }
        #expect(server.connectionCounts.accepted <= 2)
    }
}
