import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// Exchanges with an independent HTTP/3 server, aioquic. `make test-http3` runs them.
@Suite(
    "HTTP/3 with an independent server", .serialized, .enabled(if: HTTP3Server.isAvailable), .noLeaks,
    .timeLimit(.minutes(5)))
struct LiveHTTP3Tests {
    @Test("a response has version 3, the security of its connection and metrics")
    func get() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        let response = try await session.get(.raw(server.url("/x")))
        #expect(response.status == .ok && response.version == .http3)
        #expect(try await response.body.collect(upTo: 100) == Array("hello /x".utf8))
        let security = try #require(response.security)
        #expect(security.applicationProtocol == "h3" && security.tlsVersion == .tls13)
        #expect(security.chain.count == 1)
        let metrics = try #require(await response.task?.metrics.last)
        #expect(metrics.version == .http3 && !metrics.isReused && metrics.tls != nil)
        #expect(metrics.remoteAddress == "127.0.0.1" && metrics.remotePort == server.port)
        let again = try await session.get(.raw(server.url("/y")))
        _ = try await again.body.collect(upTo: 100)
        #expect(await again.task?.metrics.last?.isReused == true)
        #expect(try await server.counts(session).connections == 1)
    }

    @Test("Host and fields arrive, and HEAD has no body")
    func fields() async throws {
        let server = try HTTP3Server()
        let session = try server.session(.http3)
        var request = try CurlewRequest(.get, server.url("/fields"))
        request.fields[.accept] = "text/a"
        let sent = try await session.send(request).body.collect(upTo: 10_000)
        let fields = try JSONDecoder().decode([String: String].self, from: Data(sent))
        #expect(fields[":authority"] == "127.0.0.1:\(server.port)" && fields["accept"] == "text/a")
        #expect(fields["connection"] == nil && fields["host"] == nil)
        let head = try await session.send(CurlewRequest(.head, server.url("/bytes/10")))
        #expect(head.fields[.contentLength] == "10")
        #expect(try await head.body.collect(upTo: 10).isEmpty)
    }

    @Test("interim responses and trailers arrive")
    func trailers() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        let response = try await session.get(.raw(server.url("/interim")))
        #expect(response.interim.map(\.status.code) == [103])
        #expect(try await response.body.collect(upTo: 100) == Array("body".utf8))
        #expect(response.body.trailers[HTTPField.Name("X-Trailer")!] == "7")
    }

    @Test("large bodies arrive in both directions", arguments: [0, 1, 70_000, 8 << 20])
    func bodies(_ size: Int) async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        let received = try await session.fetch(server.url("/bytes/\(size)"))
        #expect(received.count == size)
        #expect(received.indices.allSatisfy { received[$0] == UInt8($0 % 251) })
        for body in [CurlewRequest.Body.bytes(received), .once(Pieces(of: received))] {
            var request = try CurlewRequest(.post, server.url("/digest"))
            request.body = body
            let text = try await session.send(request).body.collect(upTo: 1000)
            #expect(String(decoding: text, as: UTF8.self).hasPrefix("\(size) "))
        }
        var echo = try CurlewRequest(.post, server.url("/echo"))
        echo.body = .bytes(received)
        #expect(try await session.send(echo).body.collect(upTo: .mebibytes(16)) == received)
        #expect(try await server.counts(session).connections == 1)
    }

    @Test("64 streams at once share a connection, and each gets its own response")
    func streams() async throws {
        let server = try HTTP3Server()
        let session = try server.session(.http3)
        for _ in 0..<3 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<64 {
                    let url = server.url("/stream-\(index)")
                    group.addTask {
                        let bytes = try await session.fetch(url)
                        #expect(bytes == Array("hello /stream-\(index)".utf8))
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await server.counts(session).connections == 1)
    }

    @Test("more requests than the server permits streams are all answered")
    func manyStreams() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<400 {
                let url = server.url("/stream-\(index)")
                group.addTask {
                    let bytes = try await session.fetch(url)
                    #expect(bytes == Array("hello /stream-\(index)".utf8))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.counts(session).requests == 401)
    }

    @Test("a cancelled request resets its stream, and the connection stays usable")
    func cancellation() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        _ = try await session.fetch(server.url())
        let url = server.url("/hang")
        let hanging = Task { try await session.fetch(url) }
        try await eventually("the request has arrived") { try await server.counts(session).requests >= 3 }
        hanging.cancel()
        let error = await curlewError { _ = try await hanging.value }
        #expect(error?.code == .cancelled)
        try await eventually("the server knows of the reset") { try await server.counts(session).resets >= 1 }
        #expect(try await server.counts(session).connections == 1)
    }

    @Test("a body that is dropped in its middle resets its stream")
    func dropped() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        do {
            let response = try await session.get(.raw(server.url("/bytes/50000000")))
            var iterator = response.body.makeAsyncIterator()
            #expect(try await iterator.next()?.isEmpty == false)
        }
        #expect(try await session.fetch(server.url("/next")) == Array("hello /next".utf8))
        try await eventually("the server knows of the reset") { try await server.counts(session).resets >= 1 }
    }

    @Test("a pin that does not match refuses the server, and no other version is tried")
    func pins() async throws {
        let server = try HTTP3Server()
        let other = try HeldCertificate.localhost()
        for policy in [HTTPVersionPolicy.http3, .http3Only] {
            let session = try server.session(policy) {
                var security = SecurityPolicy.anchors(pem: server.certificate.certificatePEM)
                if let pin = try? SecurityPolicy.Pin(of: CurlewCertificate(der: other.certificateDER)) {
                    security.pinning = .keys(SecurityPolicy.PinSet([pin]))
                }
                $0.security = security
            }
            let error = await curlewError { _ = try await session.fetch(server.url()) }
            #expect(error?.isTrustFailure == true, "\(error as Any)")
            await session.shutdown()
        }
        let session = try server.session()
        #expect(try await server.counts(session).requests == 1)
    }

    @Test("a certificate of an unknown authority, or for another name, is refused")
    func certificates() async throws {
        let server = try HTTP3Server()
        let unknown = try server.session { $0.security = .system }
        let error = await curlewError { _ = try await unknown.fetch(server.url()) }
        #expect(error?.code == .selfSignedCertificate, "\(error as Any)")
        let session = try server.session {
            $0.route.hosts = [.init(host: "other.test", port: server.port, addresses: ["127.0.0.1"])]
        }
        let mismatch = await curlewError { _ = try await session.fetch("https://other.test:\(server.port)/") }
        #expect(mismatch?.code == .hostNameMismatch, "\(mismatch as Any)")
    }

    @Test("a resumed connection sends no early data")
    func resumption() async throws {
        let server = try HTTP3Server()
        let session = try server.session { $0.connections.maximumUses = 1 }
        for _ in 0..<4 { _ = try await session.fetch(server.url()) }
        let counts = try await server.counts(session)
        #expect(counts.connections == 5 && counts.early == 0)
    }

    @Test("a rejected request is sent again with any method, on a new connection")
    func refusedStream() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        for name in ["first", "second"] {
            var request = try CurlewRequest(.post, server.url("/refuse/\(name)"))
            request.body = .string("once")
            let bytes = try await session.send(request).body.collect(upTo: 100)
            #expect(bytes == Array("hello /refuse/\(name)".utf8))
        }
    }

    @Test("after GOAWAY the next request uses a new connection")
    func goAway() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        #expect(try await session.fetch(server.url("/goaway")) == Array("bye".utf8))
        var request = try CurlewRequest(.post, server.url("/next"))
        request.body = .string("x")
        #expect(try await session.send(request).body.collect(upTo: 100) == Array("hello /next".utf8))
        #expect(try await server.counts(session).connections == 2)
    }

    @Test("a connection that closes without an answer is an error for a POST, and a repetition for a kept GET")
    func closes() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        _ = try await session.fetch(server.url())
        #expect(try await session.fetch(server.url("/close/get")) == Array("hello /close/get".utf8))
        var request = try CurlewRequest(.post, server.url("/close/post"))
        request.body = .string("x")
        let error = await curlewError { _ = try await session.send(request).body.collect(upTo: 100) }
        #expect(error?.code == .connectionLost, "\(error as Any)")
        #expect(try await session.fetch(server.url("/next")) == Array("hello /next".utf8))
    }

    @Test("a body that is reset before its length is an error")
    func broken() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        let error = await curlewError { _ = try await session.fetch(server.url("/broken")) }
        // The reset of a stream may overtake the head of its response (RFC 9000 §3.3).
        #expect(error?.code == .responseTruncated || error?.code == .connectionLost, "\(error as Any)")
        #expect(try await session.fetch(server.url("/next")) == Array("hello /next".utf8))
    }

    @Test("a response before the end of the request is delivered")
    func earlyAnswer() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        var request = try CurlewRequest(.post, server.url("/early"))
        request.body = .bytes([UInt8](repeating: 7, count: 4 << 20))
        let response = try await session.send(request)
        #expect(response.status == .forbidden)
        #expect(try await response.body.collect(upTo: 100) == Array("no".utf8))
        #expect(try await session.fetch(server.url("/next")) == Array("hello /next".utf8))
    }

    @Test("a server that has gone is an error in bounded time, and a new server at its port is used")
    func gone() async throws {
        var server = try HTTP3Server()
        let session = try server.session { $0.timeouts.connect = .seconds(2) }
        _ = try await session.fetch(server.url())
        let (certificate, port) = (server.certificate, server.port)
        server.kill()
        let error = await curlewError { _ = try await session.fetch("https://127.0.0.1:\(port)/") }
        #expect(error?.isConnectFailure == true || error?.code == .connectionLost, "\(error as Any)")
        server = try HTTP3Server(certificate, port: port)
        #expect(try await session.fetch(server.url("/back")) == Array("hello /back".utf8))
    }

    @Test("a server that requires HTTP/1.1 gets the request over TCP")
    func versionFallback() async throws {
        let certificate = try HeldCertificate.localhost()
        let tcp = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { request in
            MockResponse(body: "\(request.version)")
        }
        let server = try HTTP3Server(certificate, port: tcp.port)
        let session = try server.session(.http3)
        #expect(try await session.fetchAttempts(server.url("/x")).version == .http3)
        #expect(try await session.fetchAttempts(server.url("/fallback")).version == .http11)
        await tcp.shutdown()
    }

    @Test("1,000 requests that are cancelled at random leave the session usable")
    func randomCancellation() async throws {
        let server = try HTTP3Server()
        let session = try server.session()
        for round in 0..<20 {
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    let path = ["/bytes/30000", "/a-\(index)", "/hang", "/b-\(index)"][index % 4]
                    let url = server.url(path)
                    let task = Task { try await session.fetch(url) }
                    group.addTask {
                        if path == "/hang" || (index + round) % 3 == 0 { task.cancel() }
                        guard let bytes = try? await task.value else { return }
                        let isBody = path.hasPrefix("/bytes")
                        #expect(isBody ? bytes.count == 30_000 : bytes == Array("hello \(path)".utf8))
                    }
                }
            }
        }
        #expect(try await session.fetch(server.url("/end")) == Array("hello /end".utf8))
    }

    /// Chunks of a body without a length.
    private struct Pieces: AsyncSequence, Sendable {
        let bytes: [UInt8]

        init(of bytes: [UInt8]) { self.bytes = bytes }

        struct Iterator: AsyncIteratorProtocol {
            var rest: ArraySlice<UInt8>

            mutating func next() async throws -> [UInt8]? {
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(50_000) }
                return Array(rest.prefix(50_000))
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...]) }
    }
}
