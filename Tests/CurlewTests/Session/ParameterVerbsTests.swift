import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Verbs with parameters", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct ParameterVerbsTests {
    struct Search: Codable, Sendable {
        var text = "a b"
        var page = 2
    }

    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
    }

    @Test("every verb places its parameters according to its method")
    func verbs() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url("/v1"))
        let tree: ParameterValue = ["text": "a b", "page": 2]
        typealias Call = (String, () async throws -> CurlewResponse)
        let calls: [Call] = [
            ("GET", { try await api.get("x", parameters: ["text": "a b", "page": 2]) }),
            ("GET", { try await api.get("x", parameters: RequestParameters(Search())) }),
            ("HEAD", { try await api.head("x", parameters: RequestParameters(tree)) }),
            ("HEAD", { try await api.head("x", parameters: RequestParameters(Search())) }),
            ("POST", { try await api.post("x", parameters: RequestParameters(tree)) }),
            ("POST", { try await api.post("x", parameters: RequestParameters(Search())) }),
            ("PUT", { try await api.put("x", parameters: RequestParameters(tree)) }),
            ("PUT", { try await api.put("x", parameters: RequestParameters(Search())) }),
            ("PATCH", { try await api.patch("x", parameters: RequestParameters(tree)) }),
            ("PATCH", { try await api.patch("x", parameters: RequestParameters(Search())) }),
            ("DELETE", { try await api.delete("x", parameters: RequestParameters(tree)) }),
            ("DELETE", { try await api.delete("x", parameters: RequestParameters(Search())) }),
            ("DELETE", { try await api.delete("x", parameters: RequestParameters(Search()), encoding: .form) }),
            ("POST", { try await api.post("x", parameters: RequestParameters(Search()), encoding: .query) }),
            ("QUERY", { try await api.send(HTTPRequest.Method("QUERY")!, "x", parameters: RequestParameters(tree)) }),
            (
                "QUERY",
                { try await api.send(HTTPRequest.Method("QUERY")!, "x", parameters: RequestParameters(Search())) }
            ),
        ]
        for (index, (method, call)) in calls.enumerated() {
            #expect(try await call().status == .ok)
            let request = try #require(await server.takeRequest())
            #expect(request.method.rawValue == method)
            let isInQuery = index == 13 || (["GET", "HEAD", "DELETE"].contains(method) && index != 12)
            #expect(request.target == (isInQuery ? "/v1/x?page=2&text=a%20b" : "/v1/x"))
            #expect(request.text == (isInQuery ? "" : "page=2&text=a%20b"))
            #expect(request.fields[.contentType] == (isInQuery ? nil : "application/x-www-form-urlencoded"))
            #expect(request.fields[.contentLength] == (isInQuery ? (method == "POST" ? "0" : nil) : "17"))
        }
    }

    /// A server that describes the request in its answer.
    private func echo() async throws -> MockServer {
        try await MockServer.start { request in
            let body = String(decoding: try await request.body.collect(), as: UTF8.self)
            let text = "\(request.method) \(request.target) \(body)"
            let answer: JSONValue = ["text": .string(text), "accept": .string(request.fields[.accept] ?? "")]
            return MockResponse(
                status: request.path == "/gone" ? .gone : .ok, fields: [.contentType: "application/json"],
                body: .bytes(answer.jsonBytes()))
        }
    }

    struct Answer: Codable, Sendable, Equatable {
        var text: String
        var accept: String
    }

    @Test("parameters of any type are sent, and a value of any type is returned, with every verb")
    func values() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let tree: ParameterValue = ["k": 1]
        let answer = JSONResponseSerializer<Answer>()
        let texts: [String] = [
            try await api.get("x", parameters: ["k": 1], as: answer).text,
            try await api.get("x", parameters: RequestParameters(Search()), as: .json(Answer.self)).text,
            try await api.post("x", parameters: RequestParameters(tree), as: answer).text,
            try await api.post("x", parameters: RequestParameters(Search()), as: answer).text,
            try await api.put("x", parameters: RequestParameters(tree), as: answer).text,
            try await api.put("x", parameters: RequestParameters(Search()), as: answer).text,
            try await api.patch("x", parameters: RequestParameters(tree), as: answer).text,
            try await api.patch("x", parameters: RequestParameters(Search()), as: answer).text,
            try await api.delete("x", parameters: RequestParameters(tree), as: answer).text,
            try await api.delete("x", parameters: RequestParameters(Search()), as: answer).text,
            try await api.send(.options, "x", parameters: RequestParameters(tree), as: answer).text,
            try await api.send(.options, "x", parameters: RequestParameters(Search()), as: answer).text,
            try await api.send(.put, "x", parameters: RequestParameters(tree), as: answer).text,
        ]
        let search = "page=2&text=a%20b"
        #expect(
            texts == [
                "GET /x?k=1 ", "GET /x?\(search) ", "POST /x k=1", "POST /x \(search)", "PUT /x k=1",
                "PUT /x \(search)", "PATCH /x k=1", "PATCH /x \(search)", "DELETE /x?k=1 ", "DELETE /x?\(search) ",
                "OPTIONS /x k=1", "OPTIONS /x \(search)", "PUT /x k=1",
            ])
        #expect(try await api.send(.head, "x", parameters: RequestParameters(tree), as: .text).isEmpty)
        #expect(try await api.send(.head, "x", parameters: RequestParameters(Search()), as: .bytes).isEmpty)
        let unread = try await api.get("gone", parameters: ["k": 1], as: .raw)
        #expect(unread.status == .gone)
        #expect(try await unread.body.collect(upTo: 1000).isEmpty == false)
    }

    @Test("Accept names the value's type unless the call sets it, and an error has the types sent and received")
    func valueErrors() async throws {
        let server = try await echo()
        var api = try makeSession(baseURL: server.url())
        api.requestSerializer = JSONRequestSerializer()
        let answer = JSONResponseSerializer<Answer>()
        #expect(try await api.post("x", parameters: ["k": 1], as: answer).accept == "application/json")
        let own = try await api.post("x", parameters: ["k": 1], as: answer, fields: [.accept: "a/b"])
        #expect(own.accept == "a/b")
        let gone = await curlewError { _ = try await api.put("gone", parameters: nil, as: answer) }
        #expect(gone?.code == .unacceptableStatus)
        #expect(gone?.method == .put)
        #expect(gone?.uri?.path == "/gone")
        #expect(gone?.failure(as: Answer.self)?.text == "PUT /gone ")
        let unwritten = await curlewError {
            _ = try await api.post("x", parameters: ["a": ParameterValue(Double.nan)], as: answer)
        }
        #expect(unwritten?.code == .encodingFailed)
        #expect(unwritten?.uri?.path == "/x")
    }

    @Test("a single serializer serves a hundred concurrent calls, each with its own parameters and options")
    func sharedSerializer() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        var serializer = HTTPRequestSerializer()
        serializer.style.arrays = .indexed
        try await withThrowingTaskGroup(of: Void.self) { [serializer] group in
            for number in 0..<100 {
                group.addTask {
                    var own = serializer
                    if number % 2 == 0 { own.style.arrays = .repeated }
                    let answer = try await api.get(
                        "x", parameters: ["n": [ParameterValue(number)]],
                        encoding: .serializer(number % 2 == 0 ? own : serializer),
                        as: .json(Answer.self))
                    let name = number % 2 == 0 ? "n" : "n%5B0%5D"
                    #expect(answer.text == "GET /x?\(name)=\(number) ")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("nil means no parameters")
    func none() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        _ = try await api.get("x", parameters: nil)
        #expect(await server.takeRequest()?.target == "/x")
        _ = try await api.post("x", parameters: RequestParameters(Search?.none))
        let post = try #require(await server.takeRequest())
        #expect(post.fields[.contentLength] == "0")
        #expect(post.fields[.contentType] == nil)
        _ = try await api.post("x", parameters: .none, encoding: .form)
        #expect(await server.takeRequest()?.fields[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test("a session's serializer serves every call without its own serializer")
    func serializers() async throws {
        let server = try await server()
        var api = try makeSession(baseURL: server.url())
        api.requestSerializer = JSONRequestSerializer()
        _ = try await api.post("x", parameters: RequestParameters(Search()))
        #expect(await server.takeRequest()?.text == #"{"text":"a b","page":2}"#)
        _ = try await api.post(
            "x", parameters: RequestParameters(Search()), encoding: .serializer(HTTPRequestSerializer()))
        #expect(await server.takeRequest()?.text == "page=2&text=a%20b")
        _ = try await api.post(
            "x", parameters: RequestParameters(Search()), encoding: .serializer(PropertyListRequestSerializer()))
        #expect(await server.takeRequest()?.fields[.contentType] == "application/x-plist")
    }

    @Test("a call's fields replace the session's, and the session's replace the serializer's")
    func fields() async throws {
        let server = try await server()
        var api = try makeSession(baseURL: server.url())
        api.defaultFields = [.userAgent: "session", .accept: "session"]
        var serializer = HTTPRequestSerializer()
        serializer.defaultFields[.accept] = "serializer"
        serializer.defaultFields[.cacheControl] = "serializer"
        _ = try await api.post(
            "x", parameters: ["k": 1], encoding: .serializer(serializer),
            fields: [.accept: "call", .contentType: "text/x-call"])
        let sent = try #require(await server.takeRequest()).fields
        #expect(sent[values: .accept] == ["call"])
        #expect(sent[values: .userAgent] == ["session"])
        #expect(sent[values: .cacheControl] == ["serializer"])
        #expect(sent[values: .contentType] == ["text/x-call"])
    }

    @Test("calls without parameters have none of the serializer's fields")
    func plain() async throws {
        let server = try await server()
        _ = try await makeSession().get(.raw(server.url()))
        let sent = try #require(await server.takeRequest()).fields
        #expect(sent[.userAgent] == nil)
        #expect(sent[.acceptLanguage] == nil)
    }

    @Test("a request whose parameters cannot be encoded is not sent")
    func failures() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        let error = await curlewError { _ = try await api.post("x", parameters: ["a": [ParameterValue(Double.nan)]]) }
        #expect(error?.code == .encodingFailed)
        #expect(error?.message.contains("a[0]") == true)
        #expect(error?.method == .post)
        #expect(error?.uri?.path == "/x")
        #expect(error?.stage == .preparing)
        struct Reason: Error, Equatable {}
        var serializer = HTTPRequestSerializer()
        serializer.queryEncoder = { _, _ in throw Reason() }
        for method: HTTPRequest.Method in [.get, .post] {
            let error = await linkError {
                _ = try await api.send(method, "x", parameters: ["a": 1], encoding: .serializer(serializer))
            }
            #expect(error is Reason)
        }
        let head = await curlewError { _ = try await api.head("x", parameters: ["a": 1], encoding: .form) }
        #expect(head?.code == .invalidRequest)
        _ = try await api.get("last")
        #expect(await server.takeRequest()?.target == "/last")
    }

    @Test("a request can be created without being sent")
    func request() throws {
        let api = try HTTPSession(
            baseURL: "https://a.test/v1", defaultFields: [.userAgent: "session"],
            eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare)
        let request = try api.request(
            .post, "x", parameters: .encoding(Search()), encoding: .json)
        #expect(request.uri.description == "https://a.test/v1/x")
        #expect(request.fields[.userAgent] == "session")
        #expect(request.fields[.contentType] == "application/json")
    }

    @Test("an asynchronous serializer is called through its own intercept")
    func waiting() async throws {
        struct Signing: RequestSerializer {
            func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
                try HTTPRequestSerializer().serialize(call)
            }

            func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                var request = try serialize(call)
                request.fields[.authorization] = await Task { "signed" }.value
                return try await next(request)
            }
        }
        let server = try await server()
        _ = try await makeSession().get(.raw(server.url()), parameters: ["k": 1], encoding: .serializer(Signing()))
        #expect(await server.takeRequest()?.fields[.authorization] == "signed")
    }
}
