import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("RecordingTransport", .noLeaks, .timeLimit(.minutes(1)))
struct RecordingTransportTests {
    private let session: SessionActor
    private let recorder: RecordingTransport

    init() throws {
        self.session = try SessionActor()
        self.recorder = RecordingTransport(self.session, bodyLimit: .kibibytes(100))
    }

    private func api(_ server: MockServer, chain: StandardChain.Options? = .bare) throws -> HTTPSession {
        try HTTPSession(baseURL: server.url(), transport: self.recorder, chain: chain)
    }

    @Test("an exchange is recorded completely and passes unchanged")
    func exchange() async throws {
        let server = try await MockServer.start()
        var response = MockResponse(status: .created, fields: [.contentType: "text/plain"], body: "one\ntwo\n")
        response.interim = [.init(status: .init(code: 103), fields: [.init("Link")!: "</a.css>"])]
        response.trailers = [.eTag: "\"7\""]
        server.enqueue(response)
        let answer = try await self.api(server).post(
            "birds?page=2", .body(.string("a bird")), fields: [.contentType: "text/plain"])
        #expect(answer.task != nil && answer.status == .created)
        #expect(try await answer.body.collect(upTo: 100) == Array("one\ntwo\n".utf8))
        #expect(answer.body.trailers[.eTag] == "\"7\"")
        let received = try #require(await server.takeRequest())
        #expect(received.text == "a bird" && received.fields[.contentLength] == "6")

        let exchange = try #require(try await self.recorder.recording().exchanges.first)
        #expect(exchange.request.method == .post && exchange.request.url == server.url("/birds?page=2"))
        #expect(exchange.request.body == Recording.Body("a bird"))
        #expect(exchange.request.fields[.contentType] == "text/plain")
        let recorded = try #require(exchange.response)
        #expect(recorded.status == .created && recorded.version == .http11 && exchange.failure == nil)
        #expect(recorded.body == Recording.Body("one\ntwo\n") && recorded.trailers[.eTag] == "\"7\"")
        #expect(recorded.interim.map(\.status.code) == [103])
        await server.shutdown()
    }

    @Test("request bodies of every kind are sent unchanged and recorded")
    func requestBodies() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .bytes(try await request.body.collect(upTo: 1000)))
        }
        let folder = try ScratchFolder()
        try folder.write("body", "a file")
        let pieces = AsyncStream<[UInt8]> { chunks in
            for text in ["a ", "stream"] { chunks.yield(Array(text.utf8)) }
            chunks.finish()
        }
        let bodies: [CurlewRequest.Body] = [
            .none, .bytes([0, 255]), .file(folder.file("body")), .file(folder.file("body"), offset: 2, length: 4),
            .once(pieces),
        ]
        for body in bodies { _ = try await self.api(server).put("body", .body(body)).body.collect(upTo: 100) }
        let recorded = try await self.recorder.recording().exchanges
        #expect(recorded.map(\.request.body) == recorded.map { $0.response?.body })
        #expect(
            recorded.map(\.request.body) == [
                Recording.Body(), Recording.Body([0, 255]), Recording.Body("a file"), Recording.Body("file"),
                Recording.Body("a stream"),
            ])
        var received: [RecordedRequest] = []
        for _ in bodies { received.append(try #require(await server.takeRequest())) }
        #expect(received.map { $0.fields[.contentLength] } == ["0", "2", "6", "4", nil])
        await server.shutdown()
    }

    @Test("a body that is sent repeatedly is recorded once, in its last version")
    func sentAgain() async throws {
        struct Twice: Transport {
            func send(_ request: CurlewRequest) async throws -> CurlewResponse {
                var overtaken = try await request.body.stream().makeAsyncIterator()
                _ = try await overtaken.next(isolation: nil)
                var body: [UInt8] = []
                for try await chunk in try await request.body.stream() {
                    body += chunk
                    _ = try await overtaken.next(isolation: nil)
                }
                return CurlewResponse(.ok, body: .bytes(body), uri: request.uri)
            }
        }
        let recorder = RecordingTransport(Twice())
        let body = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { chunks in
                for text in ["one", "two", "three"] { chunks.yield(Array(text.utf8)) }
                chunks.finish()
            }
        }
        _ = try await recorder.send(try CurlewRequest(.post, "https://stub.test/", body: body))
        #expect(try await recorder.recording().exchanges.map(\.request.body) == [Recording.Body("onetwothree")])
    }

    @Test("a redirect and its target are two exchanges")
    func redirect() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .found, fields: [.location: "/there"], body: "over there"))
        server.enqueue(MockResponse(body: "here"))
        let api = try self.api(server, chain: StandardChain.Options())
        #expect(try await api.get("here", as: .text) == "here")
        let exchanges = try await self.recorder.recording().exchanges
        #expect(exchanges.map(\.request.url) == [server.url("/here"), server.url("/there")])
        #expect(exchanges.map { $0.response?.body } == [Recording.Body("over there"), Recording.Body("here")])
        await server.shutdown()
    }

    @Test("an encoded body is recorded decoded, as far as it arrived")
    func codings() async throws {
        let server = try await MockServer.start()
        let text = String(repeating: "a long text; ", count: 100)
        server.enqueue(try MockResponse(fields: [.contentType: "text/plain"], body: .string(text)).encoded(.gzip))
        let api = try self.api(server, chain: StandardChain.Options())
        #expect(try await api.get("text", as: .text) == text)
        let response = try #require(try await self.recorder.recording().exchanges.first?.response)
        #expect(response.body == Recording.Body(text))
        #expect(response.fields[.contentEncoding] == nil)

        server.enqueue(try MockResponse(fields: [.contentType: "text/plain"], body: .string(text)).encoded(.gzip))
        try server.inject(Fault(.inResponseBody(after: 30), .close))
        await #expect(throws: CurlewError.self) { try await api.get("text", as: .text) }
        let broken = try #require(try await self.recorder.recording().exchanges.last?.response)
        #expect(broken.body.text.map { text.hasPrefix($0) && !$0.isEmpty } == true && !broken.body.isComplete)
        #expect(broken.fields[.contentEncoding] == nil)
        await server.shutdown()
    }

    @Test(
        "exchanges are recorded in the order of their starts, without those that have no response"
    )
    func order() async throws {
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let stub = StubTransport { request in
            if request.path == "/0" { for await _ in signals { break } }
            return request.path == "/1" ? .stall : .response(body: "\(request.path)")
        }
        let recorder = RecordingTransport(stub)
        let api = try HTTPSession(baseURL: "https://stub.test/", transport: recorder, chain: .bare)
        let late = Task { try await api.get("0", as: .text) }
        try await stub.waitForRequests(1)
        let never = Task { try await api.get("1", as: .text) }
        try await stub.waitForRequests(2)
        for name in ["2", "3"] { #expect(try await api.get(.raw(name), as: .text) == "/\(name)") }
        #expect(try await recorder.recording().exchanges.map(\.request.url.last) == ["2", "3"])
        signal.finish()
        #expect(try await late.value == "/0")
        never.cancel()
        let error = await #expect(throws: CurlewError.self) { try await never.value }
        #expect(error?.code == .cancelled)
        #expect(try await recorder.recording().exchanges.map(\.request.url.last) == ["0", "2", "3"])
    }

    @Test("concurrent requests are all recorded, each with its own response")
    func concurrency() async throws {
        let server = try await MockServer.start { MockResponse(body: "\($0.path)") }
        let api = try self.api(server)
        try await withThrowingTaskGroup { group in
            for number in 0..<50 { group.addTask { _ = try await api.get(.raw("\(number)"), as: .text) } }
            try await group.waitForAll()
        }
        let exchanges = try await self.recorder.recording().exchanges
        #expect(Set(exchanges.map(\.request.url)).count == 50)
        for exchange in exchanges {
            #expect(try CurlewURI(exchange.request.url).path == exchange.response?.body.text)
        }
        await server.shutdown()
    }

    @Test("a failure is recorded with its code, its stage and the bytes before it")
    func failures() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 50_000)) }
        try server.inject(Fault(.inResponseBody(after: 1000), .close))
        let broken = try await self.api(server).get("broken")
        await #expect(throws: CurlewError.self) { try await broken.body.collect(upTo: .mebibytes(1)) }
        try server.inject(Fault(.atResponseStart, .close))
        let lost = await #expect(throws: CurlewError.self) { try await self.api(server).post("lost") }

        let exchanges = try await self.recorder.recording().exchanges
        #expect(exchanges.count == 2)
        #expect(exchanges[0].response?.body == Recording.Body(BytePattern.bytes(count: 1000), isComplete: false))
        #expect(exchanges[0].failure?.code == .responseTruncated && exchanges[0].failure?.stage == .receiving)
        #expect(exchanges[1].response == nil && exchanges[1].failure?.code == lost?.code)
        #expect(exchanges[1].failure?.stage == lost?.stage)
        await server.shutdown()
    }

    @Test("an error of another type than Curlew's is recorded as a foreign failure")
    func foreignFailure() async throws {
        struct Odd: Error {}
        let stub = StubTransport()
        stub.enqueue(.failure(Odd()))
        let recorder = RecordingTransport(stub)
        let api = try HTTPSession(baseURL: "https://stub.test/", transport: recorder, chain: .bare)
        let error = await #expect(throws: CurlewError.self) { try await api.get("a") }
        #expect(error?.code == .foreignFailure && error?.underlying is Odd)
        let failure = try await recorder.recording().exchanges.first?.failure
        #expect(failure == Recording.Failure(.foreignFailure, "Odd", stage: .exchanging))
    }

    @Test("a body is recorded as far as it was read, whether its reader dropped it or was cancelled")
    func unfinished() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 50)) }
        for _ in 0..<2 { try server.inject(Fault(.inResponseBody(after: 5), .stall)) }
        let api = try self.api(server)
        do {
            let response = try await api.get("dropped")
            var chunks = response.body.makeAsyncIterator()
            #expect(try await chunks.next()?.count == 5)
        }
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let call = Task {
            for try await _ in try await api.get("cancelled").body { arrival.yield() }
        }
        for await _ in arrivals { break }
        call.cancel()
        let error = await #expect(throws: CurlewError.self) { try await call.value }
        #expect(error?.code == .cancelled)
        let exchanges = try await self.recorder.recording().exchanges
        let first = Recording.Body(BytePattern.bytes(count: 5), isComplete: false)
        #expect(exchanges.map { $0.response?.body } == [first, first])
        #expect(exchanges.allSatisfy { $0.failure == nil })
        await server.shutdown()
    }

    @Test("a body counts as complete once its announced length has been read, or if it must be empty")
    func wholeWithoutEnd() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(body: "five!"), MockResponse(body: "five!"), MockResponse(status: .noContent))
        let api = try self.api(server)
        var chunks = try await api.get("a").body.makeAsyncIterator()
        #expect(try await chunks.next() == Array("five!".utf8))
        #expect(try await api.head("a").status == .ok)
        #expect(try await api.delete("a").status == .noContent)
        let bodies = try await self.recorder.recording().exchanges.map { $0.response?.body }
        #expect(bodies == [Recording.Body("five!"), Recording.Body(), Recording.Body()])
        await server.shutdown()
    }

    @Test("a body beyond the limit is an error for its reader, and the recording fails", arguments: ["down", "up"])
    func bodyLimit(direction: String) async throws {
        let server = try await MockServer.start { _ in
            MockResponse(body: direction == "down" ? .pattern(count: 100 << 10 + 1) : .none)
        }
        let body: CurlewRequest.Body = direction == "up" ? .bytes(BytePattern.bytes(count: 200 << 10)) : .none
        let error = await #expect(throws: CurlewError.self) {
            _ = try await self.api(server).post("much", .body(body)).body.collect(upTo: .mebibytes(1))
        }
        #expect(error?.code == .recordingFailed)
        #expect(error?.message.contains("POST \(server.url("/much")) cannot be recorded: a body is larger") == true)
        let folder = try ScratchFolder()
        let complaint = await #expect(throws: CurlewError.self) { try await self.recorder.save(to: folder.file("a")) }
        #expect(complaint?.message == error?.message)
        #expect(folder.names.isEmpty)
        await server.shutdown()
    }

    @Test("a saved recording can be read again, and atomically replaces an existing file")
    func save() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .bytes([0, 1, 255])) }
        let folder = try ScratchFolder()
        let api = try self.api(server)
        for count in 1...2 {
            _ = try await api.get("a", as: .bytes)
            try await self.recorder.save(to: folder.file("birds.json"))
            let recording = try Recording(contentsOf: folder.file("birds.json"))
            #expect(recording == (try await self.recorder.recording()) && recording.exchanges.count == count)
        }
        #expect(folder.names == ["birds.json"])
        await server.shutdown()
    }

    @Test("an unwritable path is an error that names it, and existing files stay")
    func unwritable() async throws {
        let folder = try ScratchFolder()
        try folder.write("file", "dear to me")
        for path in [folder.file("nowhere/birds.json"), folder.file("file/birds.json"), folder.path] {
            let error = await #expect(throws: CurlewError.self) { try await self.recorder.save(to: path) }
            #expect(error?.code == .recordingFailed && error?.message.contains(path) == true)
        }
        #expect(try folder.text("file") == "dear to me")
        #expect(folder.names == ["file"])
    }
}
