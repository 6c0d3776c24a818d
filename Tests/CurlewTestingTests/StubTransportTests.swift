import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@Suite("StubTransport", .timeLimit(.minutes(1)))
struct StubTransportTests {
    private let stub = StubTransport()

    private func session(_ stub: StubTransport? = nil) throws -> HTTPSession {
        try HTTPSession(baseURL: "https://stub.test/v1/", transport: stub ?? self.stub, chain: .bare) {}
    }

    @Test("the queue answers in order, with the given status, fields, version, URI and length")
    func queue() async throws {
        self.stub.enqueue(.response(.created, fields: [.location: "/v1/7"], body: "hello", version: .http2))
        self.stub.enqueue(try .json([1, 2]))
        let first = try await self.session().post("things", .body(.string("new")))
        #expect(first.status == .created && first.version == .http2 && first.uri.path == "/v1/things")
        #expect(first.fields[.location] == "/v1/7" && first.contentLength == 5 && first.body.length == 5)
        #expect(try await first.body.collect(upTo: 5) == Array("hello".utf8))
        #expect(try await self.session().get("numbers", as: [Int].self) == [1, 2])
        #expect(self.stub.received.map(\.text) == ["new", ""])
        #expect(self.stub.received.map(\.method) == [.post, .get])
        try self.stub.verify()
    }

    @Test(
        "a route answers requests that match its method and path",
        arguments: [
            ("/v1/users", "/v1/users", true), ("v1/users", "/v1/users", true), ("/v1/users", "/v1/users/", false),
            ("/v1/*", "/v1/users", true), ("/v1/*", "/v1/users/7", false), ("/v1/**", "/v1/users/7", true),
            ("/v1/*/7", "/v1/users/7", true), ("/v1/*/7", "/v1/users/8", false), ("/**", "/v1/users", true),
            ("/v1/users", "/v1/users?page=2", true), ("/v1/users?page=2", "/v1/users?page=2", true),
            ("/v1/users?page=2", "/v1/users?page=3", false), ("/v1/users?page=2", "/v1/users", false),
            ("/v1", "/v1/users", false),
        ]
    )
    func routes(pattern: String, path: String, isMatch: Bool) async throws {
        self.stub.on(.get, pattern, answer: .response(.accepted))
        self.stub.on(nil, "/**", answer: .response(.notFound))
        #expect(try await self.session().get(.raw(path)).status == (isMatch ? .accepted : .notFound))
        #expect(try await self.session().delete(.raw(path)).status == .notFound)
    }

    @Test("routes precede the queue, the queue precedes the handler, and a used-up route is skipped")
    func order() async throws {
        let stub = StubTransport { .response(.init(code: 299), body: .string("handler \($0.index)")) }
        stub.on(.get, "/v1/a", times: 1, answer: .response(.accepted))
        stub.enqueue(.response(.created))
        let session = try self.session(stub)
        var codes: [Int] = []
        for _ in 0..<3 { codes.append(try await session.get("a").status.code) }
        #expect(codes == [202, 201, 299])
        try stub.verify()
    }

    @Test("an unexpected request fails at once with an error that names it, and verify reports it")
    func unexpected() async throws {
        self.stub.on(.get, "/v1/users/*", times: 1, answer: .response())
        _ = try await self.session().get("users/7")
        let error = await #expect(throws: CurlewError.self) { try await self.session().get("users/8?q") }
        #expect(error?.code == .unexpectedRequest && error?.method == .get)
        #expect(error?.message.contains("GET https://stub.test/v1/users/8?q") == true)
        #expect(error?.message.contains("GET /v1/users/* (used up)") == true)
        let complaint = #expect(throws: TestKitError.self) { try self.stub.verify() }
        #expect(complaint?.description == "GET https://stub.test/v1/users/8?q had no answer")
    }

    @Test("verify lists unused answers and routes")
    func verify() async throws {
        self.stub.enqueue(.response(), .response())
        self.stub.on(.post, "/v1/b", times: 2, answer: .response())
        _ = try await self.session().post("b", .body(.none))
        let complaint = #expect(throws: TestKitError.self) { try self.stub.verify() }
        #expect(complaint?.description == "answers left in the queue: 2; POST /v1/b was used 1 of 2 times")
    }

    @Test("an error has code, stage and request, as a network error does")
    func failure() async throws {
        struct Odd: Error {}
        self.stub.enqueue(.failure(.connectionRefused), .failure(.connectionLost, stage: .exchanging), .failure(Odd()))
        let refused = await #expect(throws: CurlewError.self) { try await self.session().get("a") }
        #expect(refused?.code == .connectionRefused && refused?.stage == .connecting)
        #expect(refused?.uri?.path == "/v1/a" && refused?.method == .get)
        let lost = await #expect(throws: CurlewError.self) { try await self.session().put("a", .body(.string("x"))) }
        #expect(lost?.code == .connectionLost && lost?.stage == .exchanging)
        let odd = await #expect(throws: CurlewError.self) { try await self.session().get("a") }
        #expect(odd?.code == .foreignFailure && odd?.underlying is Odd)
    }

    @Test(
        "a body arrives in its chunks, and fails after the given number of chunks",
        arguments: [0, 1, 2, 9])
    func chunks(count: Int) async throws {
        let body = StubAnswer.Body.chunks(["ab", "", "cd"])
        self.stub.enqueue(.response(body: body), .response(body: body.breaking(after: count)))
        var chunks: [[UInt8]] = []
        for try await chunk in try await self.session().get("a").body { chunks.append(chunk) }
        #expect(chunks == [Array("ab".utf8), Array("cd".utf8)])
        let response = try await self.session().get("a")
        #expect(response.body.length == nil && response.contentLength == nil)
        chunks = []
        let error = await #expect(throws: CurlewError.self) {
            for try await chunk in response.body { chunks.append(chunk) }
        }
        #expect(error?.code == .connectionLost && error?.stage == .receiving && error?.response?.status == .ok)
        #expect(chunks.map(\.count) == [[], [2], [2], [2, 2]][min(count, 3)])
    }

    @Test("delays and pauses use the given clock", arguments: [false, true])
    func delays(isCancelled: Bool) async throws {
        let clock = TestClock()
        let stub = StubTransport(clock: clock)
        stub.enqueue(.response(body: .chunks(["a", "b"], every: .seconds(1))).delayed(by: .seconds(60)))
        let session = try self.session(stub)
        let call = Task { try await session.get("slow").body.collect(upTo: 10) }
        #expect(try await clock.advanceToNextSleeper() == .seconds(60))
        #expect(try await clock.advanceToNextSleeper() == .seconds(1))
        try await clock.waitForSleepers()
        if isCancelled { call.cancel() } else { clock.advance(by: .seconds(1)) }
        switch await call.result {
        case .success(let body): #expect(!isCancelled && body == Array("ab".utf8))
        case .failure(let error as CurlewError): #expect(isCancelled && error.code == .cancelled)
        case .failure(let error): throw error
        }
    }

    @Test("a stall lasts until the request is cancelled")
    func stall() async throws {
        self.stub.enqueue(.stall)
        let session = try self.session()
        let call = Task { try await session.get("never") }
        try await self.stub.waitForRequests(1)
        call.cancel()
        let error = await #expect(throws: CurlewError.self) { try await call.value }
        #expect(error?.code == .cancelled && error?.uri?.path == "/v1/never")
    }

    @Test("every stream of requests has all requests and ends with the transport")
    func requests() async throws {
        var stub: StubTransport? = StubTransport { _ in .response() }
        let streams = try [#require(stub).requests, #require(stub).requests]
        do {
            let session = try self.session(stub)
            for name in ["a", "b"] { _ = try await session.get(.raw(name)) }
        }
        stub = nil
        for stream in streams {
            var paths: [String] = []
            for await request in stream { paths.append(request.path) }
            #expect(paths == ["/v1/a", "/v1/b"])
        }
    }

    @Test("responses to HEAD, 204 and 304 have no body")
    func bodiless() async throws {
        self.stub.enqueue(.response(body: "x"), .response(.noContent, body: "x"), .response(.notModified, body: "x"))
        let head = try await self.session().head("a")
        #expect(head.contentLength == 1)
        #expect(try await head.body.collect(upTo: 1) == [])
        for _ in 0..<2 {
            let response = try await self.session().get("a")
            #expect(try await response.body.collect(upTo: 1) == [] && response.contentLength == nil)
        }
    }

    @Test("a request's body is read as a network transport reads it")
    func requestBodies() async throws {
        let stub = StubTransport { .response(body: .bytes($0.body)) }
        let session = try self.session(stub)
        let once = CurlewRequest.Body.once(
            length: 4,
            AsyncStream {
                $0.yield(Array("once".utf8))
                $0.finish()
            })
        #expect(try await session.post("a", .body(once)).body.collect(upTo: 9) == Array("once".utf8))
        let again = await #expect(throws: CurlewError.self) { try await session.post("a", .body(once)) }
        #expect(again?.code == .bodyNotReplayable)
        for (length, text) in [(5, "four"), (3, "four")] {
            let body = CurlewRequest.Body.stream(length: Int64(length)) {
                AsyncStream<[UInt8]> {
                    $0.yield(Array(text.utf8))
                    $0.finish()
                }
            }
            let mismatch = await #expect(throws: CurlewError.self) { try await session.post("a", .body(body)) }
            #expect(mismatch?.code == .bodyLengthMismatch)
        }
        let invalid = await #expect(throws: CurlewError.self) {
            try await session.send(.head, "a", .body(.string("x")))
        }
        #expect(invalid?.code == .invalidRequest)
        #expect(stub.received.count == 1)
    }
}
