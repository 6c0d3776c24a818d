import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

/// Cases about the parts of requests and responses.
@Suite("Conformance: parts of requests and responses", .endsServers, .timeLimit(.minutes(1)))
struct MessageTests {
    private static let test = HTTPField.Name("X-Test")!

    /// Answers with the request's body.
    private static let echo: MockServer.Handler = { request in MockResponse(body: .stream(request.body)) }

    /// The request that the server received. Its body is complete, because the response ends after it.
    private func request(to server: MockServer) async throws -> RecordedRequest {
        try #require(await server.takeRequest())
    }

    @Test("testOk: each method has a response without a body", arguments: ["HEAD", "GET", "PUT", "POST", "DELETE"])
    func testOk(_ method: String) async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse())
            let response = try await http.send(try #require(HTTPRequest.Method(method)), "200")
            #expect(response.status == .ok)
            #expect(try await response.bodyText().isEmpty)
            #expect(response.body.trailers.isEmpty)
        }
    }

    @Test("testNotFound: a 404 is a response")
    func testNotFound() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(status: .notFound))
            let response = try await http.get("404")
            #expect(response.status == .notFound)
            #expect(try await response.bodyText().isEmpty)
        }
    }

    @Test("testStatusOutOfRangeButValid: a status of 999 is a response")
    func testStatusOutOfRangeButValid() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(status: HTTPResponse.Status(code: 999)))
            let response = try await http.get("999")
            #expect(response.status.code == 999)
            #expect(try await response.bodyText().isEmpty)
        }
    }

    @Test("testHeadWithContentLength: a response to HEAD has no body, also with Content-Length")
    func testHeadWithContentLength() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(fields: [.contentLength: "1000"]))
            let response = try await http.head("head_with_cl")
            #expect(response.status == .ok && response.contentLength == 1000)
            #expect(try await response.bodyText().isEmpty)
            #expect(response.body.trailers.isEmpty)
        }
    }

    // MARK: Bodies

    @Test("testEmptyChunkedBody: a stream without bytes is an empty body")
    func testEmptyChunkedBody() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let content = CurlewRequest.Content.stream(length: 0) { AsyncStream<[UInt8]> { $0.finish() } }
            let response = try await http.post("request", content)
            #expect(response.status == .ok)
            #expect(try await response.bodyText().isEmpty)
            let request = try await request(to: server)
            #expect(request.method == .post && request.isComplete && request.bodyLength == 0)
        }
    }

    @Test("testEchoString: a stream of unknown length is sent and returned")
    func testEchoString() async throws {
        try await withClient(handler: Self.echo) { http, _ in
            let response = try await http.post("echo", stream("Hello World"))
            #expect(response.status == .ok)
            #expect(try await response.bodyText() == "Hello World")
        }
    }

    @Test("testEcho1MBBody: a body of a million bytes is sent and returned")
    func testEcho1MBBody() async throws {
        try await withClient(handler: Self.echo) { http, _ in
            let bytes = [UInt8](repeating: UInt8(ascii: "A"), count: 1_000_000)
            let response = try await http.post("echo", .bytes(bytes))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: .mebibytes(2)) == bytes)
        }
    }

    @Test("testGetConvenience: a verb returns the value and the response")
    func testGetConvenience() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let (body, response) = try await http.get("request", as: .valueAndResponse(.bytes))
            #expect(response.status == .ok && body.isEmpty)
            let request = try await request(to: server)
            #expect(request.method == .get && request.body.isEmpty)
        }
    }

    @Test("testPostConvenience: a verb with a body returns the value and the response")
    func testPostConvenience() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let content = CurlewRequest.Content.bytes(Array("Hello World".utf8))
            let (body, response) = try await http.post("request", content, as: .valueAndResponse(.bytes))
            #expect(response.status == .ok && body == Array("Hello World".utf8))
            let request = try await request(to: server)
            #expect(request.method == .post && request.text == "Hello World")
        }
    }

    // MARK: Fields

    @Test("testCustomHeader: a field of the caller is sent")
    func testCustomHeader() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let name = try #require(HTTPField.Name("X-Foo"))
            let response = try await http.post("request", stream("Hello World"), fields: [name: "BARbaz"])
            #expect(try await response.bodyText() == "Hello World")
            #expect(try await request(to: server).fields[values: name] == ["BARbaz"])
        }
    }

    @Test("testClientSendsEmptyHeaderValue: an empty value is sent")
    func testClientSendsEmptyHeaderValue() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let response = try await http.post("request", fields: [Self.test: ""])
            #expect(response.status == .ok)
            await response.discard()
            #expect(try await request(to: server).fields[values: Self.test] == [""])
        }
    }

    @Test("testClientSendsMultiValueHeader: two fields with one name are sent in their order")
    func testClientSendsMultiValueHeader() async throws {
        try await withClient(handler: Self.echo) { http, server in
            await (try await http.get("request", fields: [Self.test: "one", Self.test: "two"])).discard()
            let values = try await request(to: server).fields[values: Self.test]
            #expect(values.joined(separator: ", ") == "one, two")
        }
    }

    @Test("testServerSendsMultiValueHeader: two fields with one name are received in their order")
    func testServerSendsMultiValueHeader() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(fields: [Self.test: "one", Self.test: "two"]))
            let response = try await http.get("header_multivalue")
            #expect(response.status == .ok)
            #expect(response.fields[values: Self.test].joined(separator: ", ") == "one, two")
        }
    }

    @Test("testURLParams: the parameters of a URL are sent, also a repeated one and an empty one")
    func testURLParams() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let (first, last) = ("bar", "phew")
            await (try await http.get("request?foo=\(first)&bar=baz&baz=qux&qux=&foo=\(last)")).discard()
            #expect(try await request(to: server).target == "/request?foo=bar&bar=baz&baz=qux&qux=&foo=phew")
        }
    }

    // MARK: Trailers

    @Test("testTrailerRead: trailers are available after the body")
    func testTrailerRead() async throws {
        try await withClient { http, server in
            var answer = MockResponse(body: "Response body")
            answer.framing = .chunked
            answer.trailers = [
                HTTPField.Name("X-Trailer-One")!: "first-value", HTTPField.Name("X-Trailer-Two")!: "second-value",
                HTTPField.Name("X-Checksum")!: "abc123",
            ]
            server.enqueue(answer)
            let response = try await http.get("trailers")
            #expect(response.status == .ok)
            #expect(try await response.bodyText() == "Response body")
            #expect(response.body.trailers == answer.trailers)
        }
    }

    @Test("testTrailerWrite: trailers are sent after the body")
    func testTrailerWrite() async throws {
        try await withClient(handler: Self.echo) { http, server in
            let trailers: HTTPFields = [
                HTTPField.Name("X-Request-Trailer-One")!: "first-trailer-value",
                HTTPField.Name("X-Request-Trailer-Two")!: "second-trailer-value",
            ]
            var request = try http.request(.post, "request", stream("Hello World"))
            request.trailers = trailers
            let response = try await http.send(request)
            #expect(try await response.bodyText() == "Hello World")
            let received = try await self.request(to: server)
            #expect(received.text == "Hello World")
            #expect(received.trailers == trailers)
        }
    }

    /// A content that is produced piece by piece, without a known length.
    private func stream(_ text: String) -> CurlewRequest.Content {
        .stream {
            AsyncStream<[UInt8]> { continuation in
                continuation.yield(Array(text.utf8))
                continuation.finish()
            }
        }
    }
}
