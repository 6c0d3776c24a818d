import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("HTTP/2", .keepsToPool, .endsServers, .timeLimit(.minutes(2)))
struct HTTP2Tests {
    private func tlsServer(_ handler: @escaping MockServer.Handler) async throws -> (MockServer, HTTPSession) {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        configuration.tls = ServerTLS([certificate])
        let server = try await MockServer.start(configuration, handler: handler)
        return (server, try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) })
    }

    @Test("HTTP/2 is negotiated by ALPN, and a hundred requests wait for and share one connection")
    func multiplexed() async throws {
        let (server, session) = try await tlsServer { request in MockResponse(body: .string(request.target)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                group.addTask {
                    let response = try await session.get(.raw(server.url("/\(index)")))
                    #expect(response.version == .http2)
                    #expect(try await response.body.collect(upTo: 100) == Array("/\(index)".utf8))
                    #expect(await response.task?.metrics.last?.tlsVersion == .tls13)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCounts.accepted == 1)
        for _ in 0..<20 { _ = try await session.fetch(server.url()) }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a connection carries as many concurrent streams as its server allows")
    func streams() async throws {
        let count = 150
        let server = try await RawServer.start { connection in
            let first = try await connection.acceptHTTP2Request(settings: [(.maxConcurrentStreams, 150)])
            try await connection.write(.response(stream: first), .data(stream: first, [1], endStream: true))
            var streams: [UInt32] = []
            while streams.count < count { streams.append(try await connection.readRequestStream()) }
            for stream in streams {
                try await connection.write(.response(stream: stream), .data(stream: stream, [2], endStream: true))
            }
            try await connection.closed
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url()) == [1])
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<count { group.addTask { try await session.fetch(server.url()) } }
            for try await body in group { #expect(body == [2]) }
        }
        #expect(server.accepted == 1)
    }

    @Test("a session can be limited to HTTP/1.1 over TLS")
    func http11() async throws {
        let (server, session) = try await tlsServer { _ in MockResponse(body: "ok") }
        var options = RequestOptions()
        options.versionPolicy = .http11
        #expect(try await session.get(.raw(server.url()), options: options).version == .http11)
    }

    @Test("HTTP/2 with prior knowledge works without TLS, for concurrent and consecutive requests")
    func priorKnowledge() async throws {
        let server = try await MockServer.start { request in MockResponse(body: .string(request.target)) }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        for index in 0..<3 {
            let response = try await session.get(.raw(server.url("/\(index)")))
            #expect(response.version == .http2)
            #expect(try await response.body.collect(upTo: 100) == Array("/\(index)".utf8))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<50 {
                group.addTask {
                    let body = try await session.fetch(server.url("/\(index)"))
                    #expect(body == Array("/\(index)".utf8))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("a stream with a slow reader neither delays other streams nor fills the memory")
    func heldBack() async throws {
        let (server, session) = try await tlsServer { request in
            request.path == "/big" ? MockResponse(body: .pattern(count: 64 << 20)) : MockResponse(body: "small")
        }
        let big = try await session.get(.raw(server.url("/big")))
        for _ in 0..<20 { #expect(try await session.fetch(server.url("/small")) == Array("small".utf8)) }
        var count = 0
        for try await chunk in big.body {
            #expect(BytePattern.matches(chunk.prefix(16), at: count))
            count += chunk.count
        }
        #expect(count == 64 << 20)
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("dropping a body resets its stream and leaves the connection to the others")
    func droppedStream() async throws {
        let (server, session) = try await tlsServer { request in
            request.path == "/big" ? MockResponse(body: .pattern(count: 1 << 30)) : MockResponse(body: "small")
        }
        func use() async throws {
            for try await _ in try await session.get(.raw(server.url("/big"))).body { break }
        }
        for _ in 0..<3 { try await use() }
        #expect(try await session.fetch(server.url("/small")) == Array("small".utf8))
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("trailers and interim responses arrive over HTTP/2")
    func trailers() async throws {
        let name = HTTPField.Name("x-sum")!
        let (server, session) = try await tlsServer { _ in
            // The response has no Content-Length, because libcurl stops reading a stream once it has the announced
            // bytes.
            var response = MockResponse(body: .stream { try await $0.write("body") })
            response.trailers = [name: "7"]
            response.interim = [.init(status: HTTPResponse.Status(code: 103), fields: [name: "early"])]
            return response
        }
        let response = try await session.get(.raw(server.url()))
        #expect(response.interim.map(\.status.code) == [103])
        #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        #expect(response.body.trailers[name] == "7")
    }

    @Test("an upload of 8 MiB arrives complete")
    func upload() async throws {
        let (server, session) = try await tlsServer { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
        let response = try await session.put(.raw(server.url()), .body(.bytes(Array(repeating: 1, count: 8 << 20))))
        #expect(try await response.body.collect(upTo: 100) == Array("\(8 << 20)".utf8))
    }
}
