import Curlew
import CurlewTesting
import CurlewTestingTraits
import Glibc
import TestHelpers
import Testing

/// The code of the article on testing, so that it compiles and holds. ``DocumentationTests`` compares the two.
@Suite("The tests in the article on testing", .timeLimit(.minutes(1)))
struct TestingSnippets {
    private func userName(_ id: Int, _ api: HTTPSession) async throws -> String? {
        do {
            return try await api.get("users/\(id)", as: [String: String].self)["name"]
        } catch let error as CurlewError where error.response?.status == .notFound {
            return nil
        }
    }

    @Test("a missing user is nil, and a refused request is an error")
    func missingUser() async throws {
        let stub = StubTransport()
        stub.on(.get, "/users/7", answer: try .json(["name": "Numenius"]))
        stub.on(.get, "/users/*", times: 1, answer: .response(.notFound))
        stub.enqueue(.failure(.connectionRefused))
        let api = try HTTPSession(baseURL: "https://api.example.com/", transport: stub, chain: .bare)

        #expect(try await userName(7, api) == "Numenius")
        #expect(try await userName(8, api) == nil)
        await #expect(throws: CurlewError.self) { try await userName(9, api) }

        #expect(stub.received.map(\.path) == ["/users/7", "/users/8", "/users/9"])
        try stub.verify()
    }

    @Test("a body that breaks off is an error, after its received bytes")
    func brokenBody() async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock)
        let body = StubAnswer.Body.chunks(["one", "two", "three"]).breaking(after: 2)
        stub.enqueue(.response(body: body).delayed(by: .seconds(30)))
        let api = try HTTPSession(baseURL: "https://api.example.com/", transport: stub, chain: .bare)

        let call = Task { try await api.get("counting").body.collect(upTo: .kibibytes(1)) }
        try await clock.advanceToNextSleeper()
        let error = await #expect(throws: CurlewError.self) { try await call.value }
        #expect(error?.code == .connectionLost && error?.stage == .receiving)
    }

    @Test("a recorded answer is replayed without the server")
    func recording() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "application/json"], body: #"{"name":"Numenius","token":"hush"}"#)
        }
        let file = "/tmp/curlew-recording-\(UInt64.random(in: 0...UInt64.max)).json"
        defer { unlink(file) }

        let recorder = RecordingTransport(try SessionActor())
        let recorded = try HTTPSession(baseURL: server.url(), transport: recorder)
        #expect(try await userName(7, recorded) == "Numenius")
        try await recorder.save(to: file)
        await server.shutdown()

        let replay = try ReplayTransport(contentsOf: file)
        let replayed = try HTTPSession(baseURL: server.url(), transport: replay)
        #expect(try await userName(7, replayed) == "Numenius")
        try replay.verify()
    }

    @Test("the first bird is a curlew")
    func firstBird() async throws {
        var masking = Recording.Masking()
        masking.parameters.insert("ssn")
        masking.fields.insert(.init("X-Tenant")!)
        let cassette = try CassetteTransport("Recordings/birds.json", masking: masking)
        let api = try HTTPSession(baseURL: "https://api.example.com/", transport: cassette)
        #expect(try await userName(7, api) == "Numenius")
        try await cassette.finish()
    }

    @Test("an upload from a stream arrives complete")
    func upload() async throws {
        let server = try await MockServer.start { request in
            var count = 0
            for try await piece in request.body { count += piece.count }
            return MockResponse(status: .created, body: "\(count)")
        }
        let api = try HTTPSession(baseURL: server.url())
        let body = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { chunks in
                chunks.yield(Array("curl".utf8))
                chunks.yield(Array("ew".utf8))
                chunks.finish()
            }
        }
        #expect(try await api.post("birds", .body(body)).status == .created)

        let request = try #require(await server.takeRequest())
        #expect(request.text == "curlew" && request.isComplete)
        #expect(request.version == .http11 && request.connectionIndex == 0 && request.exchangeIndex == 0)
        await server.shutdown()
    }

    private func unusualResponse() throws -> MockResponse {
        var response = MockResponse(fields: [.contentType: "text/plain"], body: .pattern(count: 100_000))
        response = try response.encoded(.gzip)
        response.interim = [.init(status: .init(code: 103))]
        response.framing = .chunked
        response.trailers = [.eTag: "\"7\""]
        response.headDelay = .milliseconds(20)
        response.throttle = .init(bytes: 4096, every: .milliseconds(1))
        return response
    }

    @Test("a download that breaks off is an error, and the next one works", .noLeaks)
    func brokenDownload() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 1_000_000)) }
        try server.inject(Fault(.inResponseBody(after: 1000), .close))
        let api = try HTTPSession(baseURL: server.url())

        let broken = try await api.get("file")
        let error = await #expect(throws: CurlewError.self) { try await broken.body.collect(upTo: .mebibytes(1)) }
        #expect(error?.code == .responseTruncated)
        #expect(try await api.get("file").body.collect(upTo: .mebibytes(1)).count == 1_000_000)
        try server.verify()
        await server.shutdown()
    }

    private func confusedServer() async throws -> RawServer {
        try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello")
        }
    }

    @Test("an expired certificate is refused, although its root is trusted")
    func certificates() async throws {
        let root = try HeldCertificate.root()
        let intermediate = try HeldCertificate(.authority("Intermediate", pathLength: 0), issuer: root)
        let good = try HeldCertificate.localhost(issuedBy: intermediate)
        let expired = try HeldCertificate.expired(issuedBy: intermediate)
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: root.certificatePEM)
        let session = try HTTPSession(configuration: configuration)

        let first = try await MockServer.start(.init(tls: ServerTLS([good, intermediate])))
        #expect(try await session.get(.raw(first.url())).version == .http2)
        let second = try await MockServer.start(.init(tls: ServerTLS([expired, intermediate])))
        let error = await #expect(throws: CurlewError.self) { try await session.get(.raw(second.url())) }
        #expect(error?.code == .certificateExpired)
    }

    private func brittleProxy() async throws -> MockProxy {
        let proxy = try await MockProxy.start(.init(credentials: .init(user: "u", password: "p")))
        try proxy.inject(Fault(.inResponseBody(after: 100), .reset), at: .exchange(1))
        return proxy
    }

    @Test("a delayed response arrives when the clock reaches its time")
    func delay() async throws {
        let clock = TestClock()
        var configuration = MockServer.Configuration()
        configuration.clock = clock
        let server = try await MockServer.start(configuration)
        var response = MockResponse(body: "at last")
        response.headDelay = .seconds(3600)
        server.enqueue(response)
        let url = server.url()

        let call = Task { try await HTTPSession().get(.raw(url)).status }
        #expect(try await clock.advanceToNextSleeper() == .seconds(3600))
        #expect(try await call.value == .ok)
    }

    @Test("examples of the article outside of tests work too")
    func parts() async throws {
        let server = try await MockServer.start()
        server.enqueue(try unusualResponse())
        let response = try await HTTPSession().get(.raw(server.url()))
        #expect(try await !response.body.collect(upTo: .mebibytes(1)).isEmpty)
        #expect(response.body.trailers[.eTag] == "\"7\"")
        let confused = try await confusedServer()
        let error = await #expect(throws: CurlewError.self) { try await HTTPSession().get(.raw(confused.url())) }
        #expect(error?.code == .invalidResponse)
        await (try brittleProxy()).shutdown()
    }
}
