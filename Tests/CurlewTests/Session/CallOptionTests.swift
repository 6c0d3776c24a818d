import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Options and arguments of a call", .noLeaks, .timeLimit(.minutes(1)))
struct CallOptionTests {
    private static let key = HTTPField.Name("Idempotency-Key")!

    @Test("a POST with an idempotency key is sent again with the same key")
    func idempotencyKey() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.badGateway), .response(.ok))
        let session = try HTTPSession(transport: stub, chain: .bare) { quickRetry() }
        var options = RequestOptions()
        options.idempotencyKey = .random
        #expect(try await session.post("http://a.test/", .text("x"), options: options).attempts == 2)
        let keys = stub.received.map { $0.fields[Self.key] }
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0]?.utf8.count == 32)
    }

    @Test("an idempotency key does not replace a field of the call, or override an explicit mark")
    func keyGivesWay() async throws {
        let stub = StubTransport { _ in .response(.badGateway) }
        let session = try HTTPSession(transport: stub, chain: .bare) { quickRetry() }
        var options = RequestOptions()
        options.idempotencyKey = "mine"
        options.isIdempotent = false
        #expect(try await session.post("http://a.test/", fields: [Self.key: "own"], options: options).attempts == 1)
        #expect(stub.received.map { $0.fields[Self.key] } == ["own"])
    }

    @Test("events, lines and pages send the credential of the call, pages to the first origin only")
    func streamCredentials() async throws {
        let stub = StubTransport { request in
            switch request.path {
            case "/users": .response(fields: [.link: #"<http://b.test/2>; rel="next""#], body: "[1]")
            case "/events": .response(fields: [.contentType: "text/event-stream"])
            default: .response(body: "[2]")
            }
        }
        let session = try HTTPSession(transport: stub, chain: .bare)
        let credential = Credential.bearer("t0ken")
        for try await _ in session.events(
            "http://a.test/events", credential: credential, reconnection: .init(reconnectsAfterEnd: false))
        {}
        for try await _ in session.lines("http://a.test/lines", credential: credential) {}
        let pages = session.pages(
            "http://a.test/users", as: [Int].self, allowsOtherOrigins: true, credential: credential)
        var elements: [Int] = []
        for try await element in pages { elements.append(element) }
        #expect(elements == [1, 2])
        #expect(stub.received.map { $0.fields[.authorization] } == Array(repeating: "Bearer t0ken", count: 3) + [nil])
    }

    @Test("an endpoint of two or three values is called with the values")
    func endpointArguments() async throws {
        let stub = StubTransport { .response(body: "\"\($0.path)\"") }
        let session = try HTTPSession(baseURL: "http://a.test/", transport: stub, chain: .bare)
        let pair = Endpoint(.get, as: String.self) { (owner: String, name: String) in "repos/\(owner)/\(name)" }
        #expect(try await session.call(pair, "octo", "hello") == "/repos/octo/hello")
        let triple = Endpoint(.get, as: String.self) { (a: Int, b: Int, c: Int) in "\(a)/\(b)/\(c)" }
        #expect(try await session.call(triple, 1, 2, 3) == "/1/2/3")
    }

    @Test("random keys are different")
    func randomKeys() {
        #expect(Set((0..<100).map { _ in RequestOptions.IdempotencyKey.random }).count == 100)
    }

    @Test("an attempt that exceeds its time limit is repeated")
    func attemptTimeout() async throws {
        let server = try await RawServer.start { connection in
            while true {
                _ = try await connection.readHead()
                if connection.index == 0 { try await connection.closed }
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let session = try makeSession { quickRetry() }
        var options = RequestOptions()
        options.attemptTimeout = .milliseconds(700)
        let response = try await session.get(.raw(server.url()), options: options)
        #expect(response.attempts == 2)
        await response.discard()
        options.attemptTimeout = .zero
        let error = await curlewError { _ = try await session.get(.raw(server.url()), options: options) }
        #expect(error?.code == .invalidRequest)
    }

    @Test(
        "the credential of a call or a session is sent without a challenge",
        arguments: [
            (Credential.bearer("token"), "Bearer token"), (.password(user: "u", password: "p"), "Basic dTpw"),
        ])
    func credential(_ credential: Credential, _ field: String) async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(baseURL: "http://a.test/", transport: stub)
        _ = try await session.get("x", credential: credential)
        _ = try await session.post("x", .text("y"), credential: credential)
        let own = try HTTPSession(baseURL: "http://a.test/", transport: stub, credential: credential)
        _ = try await own.get("x")
        _ = try await own.get("http://other.test/")
        #expect(stub.received.map { $0.fields[.authorization] } == [field, field, field, nil])
        let error = await curlewError { _ = try await session.get("x", credential: .ticket) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("the credential of a call is not sent to another origin")
    func credentialStays() async throws {
        let stub = StubTransport { request in
            request.uri.host == "a.test"
                ? .response(.found, fields: [.location: "http://b.test/"]) : .response(.ok)
        }
        let session = try HTTPSession(transport: stub)
        _ = try await session.get("http://a.test/", credential: .bearer("token"))
        #expect(stub.received.map { $0.fields[.authorization] } == ["Bearer token", nil])
    }

    @Test("a link can read the target and the body of a request to sign them")
    func signing() async throws {
        struct Signing: CurlewMiddleware {
            func intercept(
                _ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>
            ) async throws -> CurlewResponse {
                var request = request
                let bytes = try await request.body.collect(upTo: 10)
                request.body = .bytes(bytes)
                request.fields[.mark] = "\(request.method) \(request.target) \(bytes.count)"
                return try await next(request)
            }
        }
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(baseURL: "http://a.test/", transport: stub, chain: .bare) { Signing() }
        _ = try await session.post("x y", .body(oneShot("abc")), query: ["k": "a b"])
        #expect(stub.received.first?.fields[.mark] == "POST /x%20y?k=a%20b 3")
        let error = await curlewError { _ = try await session.post("x", .text("more than ten bytes")) }
        #expect(error?.code == .bodyFailed)
    }

    @Test("a form part is JSON in the dialect of the session")
    func formJSON() async throws {
        struct Bird: Encodable, Sendable { var latinName = "Numenius" }
        let server = try await MockServer.start { request in
            MockResponse(body: .bytes(try await request.body.collect()))
        }
        var session = try makeSession()
        session.json = JSONCoding(keys: .snakeCase)
        let text = try await session.post(
            .raw(server.url()), .multipart { form in try form.append(json: Bird(), name: "bird") }, as: .text)
        #expect(
            text.contains("name=\"bird\"\r\nContent-Type: application/json\r\n\r\n{\"latin_name\":\"Numenius\"}\r\n"))
    }

    @Test("a custom kind of content is encoded when the call begins")
    func ownContent() async throws {
        struct Broken: Error {}
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(baseURL: "http://a.test/", transport: stub, chain: .bare)
        _ = try await session.put("x", .encoded(as: "application/msgpack") { [0x80] })
        #expect(stub.received.first?.fields[.contentType] == "application/msgpack")
        #expect(stub.received.first?.body == [0x80])
        let error = await curlewError { _ = try await session.put("x", .encoded(as: "x/y") { throw Broken() }) }
        #expect(error?.code == .encodingFailed && error?.underlying is Broken && error?.uri?.path == "/x")
    }

    @Test("a credential of a session without a base URL is refused")
    func credentialWithoutHome() {
        let error = #expect(throws: CurlewError.self) { try HTTPSession(credential: .bearer("t")) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a call with only a query has no content, with any serializer of the session")
    func queryAlone() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        var session = try HTTPSession(baseURL: "http://a.test/", transport: stub, chain: .bare)
        _ = try await session.post("x", query: ["k": 1])
        var form = MultipartFormData()
        form.append("1", name: "a")
        session.requestSerializer = MultipartRequestSerializer(form)
        _ = try await session.get("x", query: ["k": 1])
        #expect(stub.received.map { $0.uri.query } == ["k=1", "k=1"])
        #expect(stub.received.allSatisfy { $0.body.isEmpty && !$0.fields.contains(.contentType) })
    }

    @Test("the media type of a form overrides that of the session's default fields")
    func formType() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(
            baseURL: "http://a.test/", transport: stub, defaultFields: [.contentType: "application/json"], chain: .bare)
        _ = try await session.post("x", .form(["a": 1]))
        _ = try await session.post("x", .form(["a": 1]), fields: [.contentType: "x/y"])
        #expect(stub.received.map { $0.fields[.contentType] } == ["application/x-www-form-urlencoded", "x/y"])
    }

    @Test("an endpoint whose first link takes parameters refuses other content")
    func endpointContent() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(baseURL: "http://a.test/", transport: stub, chain: .bare)
        let endpoint = Endpoint<Void, String>(.post) { (_: Void) in
            .init("x", .multipart { $0.append("1", name: "a") })
        } through: {
            HTTPRequestSerializer().asLink(returning: String.self)
            ResponseSerializers.Text()
        }
        let error = await curlewError { _ = try await session.call(endpoint) }
        #expect(error?.code == .invalidRequest && stub.received.isEmpty)
    }
}
