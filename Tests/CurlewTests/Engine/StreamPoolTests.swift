import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The connection pool and the streams of HTTP/2", .keepsToPool, .noLeaks, .timeLimit(.minutes(2)))
struct StreamPoolTests {
    @Test("a refused stream is repeated on a new connection, even if one per host is allowed")
    func newcomerAtLimit() async throws {
        let server = try await RawServer.start { connection in
            var stream = try await connection.acceptHTTP2Request()
            if connection.index == 0 {
                try await connection.write(.response(stream: stream), .data(stream: stream, [1], endStream: true))
                stream = try await connection.readRequestStream()
                try await connection.write(.resetStream(stream, .refusedStream))
            } else {
                try await connection.write(.response(stream: stream), .data(stream: stream, [2], endStream: true))
            }
            try await connection.closed
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url()) == [1])
        #expect(try await session.fetch(server.url()) == [2])
        #expect(server.accepted == 2)
    }

    @Test("requests that wait for a stream survive a server that accepts no second connection")
    func refusedDial() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let server = try await PoolScene.server(gate, configuration)
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        // After the first request the client has read the server's SETTINGS.
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        let held = Task { try await session.fetch(server.url("/held")) }
        try await server.waitForRequests(2)
        await server.stopAccepting()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    let body = try await session.fetch(server.url("/\(index)"))
                    #expect(body == Array("/\(index)".utf8))
                }
            }
            try await eventually("they wait") { await session.session?.figures().tasksAwaitingConnections == 8 }
            gate.open()
            try await group.waitForAll()
        }
        #expect(try await held.value == Array("/held".utf8))
    }

    @Test(
        "an HTTP/2 connection is filled up to the server's stream limit before another is opened",
        arguments: [10, 130, 400])
    func filling(permitted: Int) async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = permitted
        let server = try await PoolScene.server(gate, configuration)
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<permitted + 20 { group.addTask { try await session.fetch(server.url("/held")) } }
            try await server.waitForRequests(1 + permitted)
            gate.open()
            for try await body in group { #expect(body == Array("/held".utf8)) }
        }
        #expect(server.connectionCounts.accepted == 1)
        #expect(server.requestCount == permitted + 21)
    }

    @Test("a learned stream limit expires, and the limit of connections still holds")
    func forgettingLimits() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 2
        let server = try await PoolScene.server(gate, configuration)
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { _ = try await session.fetch(server.url("/held")) } }
            try await server.waitForRequests(3)
            gate.open()
            try await group.waitForAll()
        }
        for index in 0..<1000 {
            let body = try await session.fetch(server.url("/\(index)"))
            #expect(body == Array("/\(index)".utf8))
        }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("exchanges that wait for a stream keep their order if the server allows a single stream")
    func order() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let targets = Guarded<[String]>([])
        let server = try await MockServer.start(configuration) { request in
            targets.withLock { $0.append(request.target) }
            if request.target == "/held" { try await gate.wait() }
            return MockResponse()
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        _ = try await session.fetch(server.url("/first"))
        async let held = session.fetch(server.url("/held"))
        try await server.waitForRequests(2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask { _ = try await session.fetch(server.url("/\(index)")) }
                try await eventually("it waits") {
                    await session.session?.figures().runningTasks == 2 + index
                }
            }
            try await session.expectWaiting(atLeast: 1)
            gate.open()
            try await group.waitForAll()
        }
        _ = try await held
        #expect(targets.withLock { $0 } == ["/first", "/held"] + (0..<20).map { "/\($0)" })
    }

    @Test("exchanges that wait for a connection survive the end of the exchange that opens it")
    func cancelledOwner() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let server = try await PoolScene.server(gate, configuration)
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        _ = try await session.fetch(server.url("/a"))
        let held = Task { try await session.fetch(server.url("/held")) }
        try await server.waitForRequests(2)
        await server.stopAccepting()
        let owners = (0..<4).map { index in Task { try await session.fetch(server.url("/owner/\(index)")) } }
        let others = (0..<4).map { index in Task { try await session.fetch(server.url("/\(index)")) } }
        try await session.expectWaiting(atLeast: 8)
        for owner in owners { owner.cancel() }
        for owner in owners { #expect(await curlewError { _ = try await owner.value }?.code == .cancelled) }
        gate.open()
        for (index, other) in others.enumerated() {
            let body = try await other.value
            #expect(body == Array("/\(index)".utf8))
        }
        _ = try await held.value
    }

    @Test("exchanges of a broken connection share the next one")
    func newcomersShare() async throws {
        let server = try await RawServer.start { connection in
            let first = try await connection.acceptHTTP2Request()
            try await connection.write(.response(stream: first), .data(stream: first, [0], endStream: true))
            if connection.index == 0 {
                for _ in 0..<20 {
                    try await connection.write(.resetStream(connection.readRequestStream(), .refusedStream))
                }
            } else {
                for _ in 1..<20 {
                    let stream = try await connection.readRequestStream()
                    try await connection.write(.response(stream: stream), .data(stream: stream, [1], endStream: true))
                }
            }
            try await connection.closed
        }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        _ = try await session.fetch(server.url())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await session.fetch(server.url()) } }
            try await group.waitForAll()
        }
        // A new connection can be shared from its first response on (Engine.sharesAfterFirstHead); until then others
        // are opened.
        let most = Engine.sharesAfterFirstHead ? 10 : 2
        #expect((2...most).contains(server.accepted))
    }
}
