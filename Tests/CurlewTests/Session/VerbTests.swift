import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Verbs", .endsServers, .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct VerbTests {
    struct Order: Codable, Sendable, Equatable { var id: Int }

    private func echo() async throws -> MockServer {
        try await MockServer.start { request in
            let body = String(decoding: try await request.body.collect(), as: UTF8.self)
            let type = request.fields[.contentType] ?? "-"
            return MockResponse(body: .string("\(request.method) \(request.target) \(type) \(body)"))
        }
    }

    @Test("parameters of mixed types are variables, and nil omits its pair")
    func mixedParameters() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        enum Sorting: String, RequestParameters.Convertible { case newest }
        let text = "a b&c"
        let page = 2
        let tag: String? = nil
        let since: Date? = Date(timeIntervalSince1970: 0)
        let id = UUID(uuidString: "11111111-2222-3333-4444-555555555555")
        let answer = try await api.get(
            "search",
            parameters: [
                "q": text, "page": page, "tag": tag, "since": since, "id": id, "deep": true, "ratio": 1.5,
                "sort": Sorting.newest,
                "ids": [1, 2], "url": URL(string: "https://a.test/?x"),
                "range": ParameterValue.nested(["from": page, "to": tag]),
            ], as: .text)
        let expected = [
            "deep=1", "id=11111111-2222-3333-4444-555555555555", "ids%5B%5D=1", "ids%5B%5D=2", "page=2", "q=a%20b%26c",
            "range%5Bfrom%5D=2", "ratio=1.5", "since=1970-01-01%2000%3A00%3A00%20%2B0000", "sort=newest",
            "url=https%3A//a.test/?x",
        ]
        #expect(answer == "GET /search?\(expected.joined(separator: "&")) - ")
    }

    @Test("a nil member of an Encodable value is omitted from a query, like a nil literal")
    func encodableNil() async throws {
        struct Search: Encodable, Sendable {
            var text = "x"
            var tag: String?
        }
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        #expect(try await api.get("s", parameters: .encoding(Search()), as: .text) == "GET /s?text=x - ")
        let table: [String: String?] = ["a": "1", "b": nil]
        #expect(try await api.get("s", parameters: .encoding(table), as: .text) == "GET /s?a=1 - ")
        #expect(try await api.get("s", parameters: ["b": ParameterValue.null], as: .text) == "GET /s?b - ")
    }

    @Test("parameters become the query if there is another body")
    func besideBodies() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        #expect(
            try await api.post("x", .json(Order(id: 7)), query: ["k": 1], as: .text)
                == #"POST /x?k=1 application/json {"id":7}"#)
        #expect(try await api.put("x", .body(.string("b")), query: ["k": 1], as: .text) == "PUT /x?k=1 - b")
        #expect(
            try await api.patch("x", .form(["f": 2]), query: ["k": 1], as: .text)
                == "PATCH /x?k=1 application/x-www-form-urlencoded f=2")
        #expect(
            try await api.delete("x", .form(["f": 2]), as: .text) == "DELETE /x application/x-www-form-urlencoded f=2")
        #expect(try await api.post("x", parameters: ["k": 1], encoding: .query, as: .text) == "POST /x?k=1 - ")
        #expect(
            try await api.post("x", parameters: ["k": 1], encoding: .json, as: .text)
                == #"POST /x application/json {"k":1}"#)
        #expect(try await api.get("x").text() == "GET /x - ")
        #expect(try await api.post("x").text() == "POST /x - ")
        let none: Order? = nil
        #expect(try await api.post("x", .json(none)).text() == "POST /x application/json null")
    }

    @Test("a value is decoded with any media type, and a failure names the type first")
    func anyMediaType() async throws {
        let stub = StubTransport()
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub, chain: .bare)
        stub.enqueue(.response(.ok, fields: [.contentType: "text/plain"], body: .string(#"{"id":7}"#)))
        #expect(try await api.get("x", as: Order.self) == Order(id: 7))
        stub.enqueue(.response(.ok, fields: [.contentType: "text/html"], body: .string("<html>down</html>")))
        let error = await curlewError { _ = try await api.get("x", as: Order.self) }
        #expect(error?.code == .unacceptableContentType)
        #expect(error?.message == "the content type is text/html, and the body cannot be read as JSON")
        #expect(error.map { String(decoding: $0.bodyPrefix, as: UTF8.self) } == "<html>down</html>")
        #expect((error?.underlying as? CurlewError)?.code == .decodingFailed)
        stub.enqueue(.response(.ok, fields: [.contentType: "application/json"], body: .string("{}")))
        #expect(await curlewError { _ = try await api.get("x", as: Order.self) }?.code == .decodingFailed)
    }

    @Test("as: accepts serializers by their short names")
    func shortNames() async throws {
        let server = try await MockServer.start { request in
            MockResponse(
                status: request.path == "/bad" ? .badRequest : .ok,
                fields: [.contentType: "text/plain", .eTag: "\"e\""],
                body: "[7]")
        }
        let api = try makeSession(baseURL: server.url())
        #expect(try await api.get("x", as: .text) == "[7]")
        #expect(try await api.get("x", as: .bytes) == Array("[7]".utf8))
        #expect(try await api.get("x", as: .data) == Data("[7]".utf8))
        let (value, response) = try await api.get("x", as: .valueAndResponse([Int].self))
        #expect(value == [7] && response.fields[.eTag] == "\"e\"")
        #expect(try await response.text() == "[7]")
        #expect(try await api.get("x", as: .valueAndResponse(.text)).value == "[7]")
        try await api.delete("x", as: .nothing)
        let error = await curlewError { try await api.delete("bad", as: .nothing) }
        #expect(error?.code == .unacceptableStatus && error?.body == Array("[7]".utf8))
        let both = await curlewError { _ = try await api.get("bad", as: .valueAndResponse([Int].self)) }
        #expect(both?.code == .unacceptableStatus)
        let folder = try ScratchFolder()
        let file = try await api.get("x", as: .file(.file(folder.file("x"))))
        #expect(file.size == 3)
    }

    @Test("a response can be read manually, and checked on request")
    func reading() async throws {
        let stub = StubTransport { request in
            .response(
                request.path == "/gone" ? .gone : .ok, fields: [.contentType: "application/json"], body: .string("[7]"))
        }
        let api = try HTTPSession(
            baseURL: "https://a.test/", transport: stub, limits: CurlewResponse.Limits(collectedBody: 3), chain: .bare)
        #expect(try await api.get("x").json(as: [Int].self) == [7])
        #expect(try await api.get("gone").json(as: [Int].self, anyStatus: true) == [7])
        #expect(await curlewError { _ = try await api.get("gone").json(as: [Int].self) }?.code == .unacceptableStatus)
        #expect(await curlewError { _ = try await api.get("gone").text() }?.code == .unacceptableStatus)
        #expect(try await api.get("x").checked().bytes() == Array("[7]".utf8))
        #expect(try await api.get("gone").data(anyStatus: true) == Data("[7]".utf8))
        let error = await curlewError { _ = try await api.get("gone").checked() }
        #expect(error?.code == .unacceptableStatus && error?.failure(as: [Int].self) == [7])
        #expect(await curlewError { _ = try await api.get("x").text(upTo: 2) }?.code == .responseTooLarge)
        await (try await api.get("x")).discard()
        let small = try HTTPSession(
            baseURL: "https://a.test/", transport: stub, limits: CurlewResponse.Limits(collectedBody: 2), chain: .bare)
        #expect(await curlewError { _ = try await small.get("x").text() }?.code == .responseTooLarge)
    }

    @Test("timeout: is a deadline for the call, and replaces that of the options")
    func timeout() async throws {
        let limits = Guarded<[Duration?]>([])
        let api = try HTTPSession(
            baseURL: "https://a.test/", transport: StubTransport { _ in .response(.ok) }, chain: .bare
        ) {
            Link { request, next in
                limits.withLock { $0.append(request.options.totalTimeout) }
                return try await next(request)
            }
        }
        var options = RequestOptions()
        options.totalTimeout = .seconds(9)
        _ = try await api.get("x", timeout: .seconds(5), options: options)
        _ = try await api.get("x", options: options)
        try await api.post("x", .json([1]), as: .nothing, timeout: .seconds(4))
        #expect(limits.withLock { $0 } == [.seconds(5), .seconds(9), .seconds(4)])
    }

    @Test("a session has the standard chain, unless it is bare or has one among its links")
    func chains() async throws {
        func attempts(_ session: (StubTransport) throws -> HTTPSession) async throws -> Int {
            let stub = StubTransport { request in
                request.index == 0 ? .response(.found, fields: [.location: "/b"]) : .response(.ok)
            }
            _ = try await session(stub).get("https://a.test/a")
            return stub.received.count
        }
        #expect(try await attempts { try HTTPSession(transport: $0) } == 2)
        #expect(try await attempts { try HTTPSession(transport: $0, chain: .bare) } == 1)
        #expect(try await attempts { try HTTPSession(transport: $0) { Link { try await $1($0) } } } == 2)
        var manual = StandardChain.Options()
        manual.redirects.policy = .manual
        #expect(try await attempts { try HTTPSession(transport: $0) { StandardChain(manual) } } == 1)
        #expect(
            try await attempts {
                try HTTPSession(transport: $0) {
                    Link { try await $1($0) }
                    StandardChain(manual)
                    Link { try await $1($0) }
                }
            } == 1)
    }

    @Test("JSON parameters follow the session's dialect, and its style when they become a query")
    func encodings() async throws {
        struct Search: Encodable, Sendable { var birdName = "a/b" }
        let server = try await echo()
        var api = try makeSession(baseURL: server.url())
        api.json = JSONCoding(keys: .snakeCase)
        var style = HTTPRequestSerializer()
        style.style.arrays = .indexed
        api.requestSerializer = style
        #expect(
            try await api.post("x", parameters: .encoding(Search()), encoding: .json, as: .text)
                == #"POST /x application/json {"bird_name":"a/b"}"#)
        for encoding in [RequestParameters.Encoding.json, .propertyList, .automatic, .query] {
            #expect(
                try await api.get("x", parameters: ["k": [1]], encoding: encoding, as: .text) == "GET /x?k%5B0%5D=1 - ")
        }
        var own = HTTPRequestSerializer()
        own.style.arrays = .repeated
        var form = MultipartFormData()
        form.append("1", name: "f")
        let text = try await api.post(
            "x", parameters: ["k": [1]], encoding: .serializer(MultipartRequestSerializer(form, base: own)), as: .text)
        #expect(text.contains("name=\"k\"") && !text.contains("k[0]"))
    }
}
