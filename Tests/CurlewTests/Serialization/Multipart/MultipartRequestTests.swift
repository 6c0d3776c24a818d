import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Requests with a multipart form", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct MultipartRequestTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
    }

    private func part(_ name: String, _ value: String) -> String {
        "--B\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
    }

    private func form(_ names: String...) throws -> MultipartFormData {
        var form = try MultipartFormData.test()
        for name in names { form.append("1", name: name) }
        return form
    }

    @Test("parameters precede the parts of the builder, in the order of pairs", arguments: [false, true])
    func order(http2: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        if http2 { configuration.tls = ServerTLS([certificate]) }
        let server = try await MockServer.start(configuration) { request in
            for try await _ in request.body {}
            return MockResponse()
        }
        let api = try makeSession(baseURL: server.url("/v1")) {
            $0.security = .anchors(pem: certificate.certificatePEM)
        }
        let response = try await api.post(
            "x",
            .multipart(parameters: ["b": ["c": 1], "a": ParameterValue.null, "none": nil]) { form in
                form.append("z", name: "first")
                form.append("y", name: "second")
            })
        #expect(response.version == (http2 ? .http2 : .http11))
        let request = try #require(await server.takeRequest())
        let type = try #require(request.fields[.contentType])
        let boundary = String(type.dropFirst("multipart/form-data; boundary=".count))
        #expect(boundary.wholeMatch(of: /Boundary\+[0-9A-F]{16}/) != nil)
        let expected = part("a", "") + part("b[c]", "1") + part("first", "z") + part("second", "y") + "--B--\r\n"
        #expect(request.text == expected.replacing("--B", with: "--\(boundary)"))
        #expect(request.fields[.contentLength] == "\(request.bodyLength)")
        #expect(request.fields[.transferEncoding] == nil)
        #expect(request.target == "/v1/x")
    }

    @Test("any method except GET and HEAD may have a form")
    func methods() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT"] {
            _ = try await api.send(HTTPRequest.Method(method)!, "x", .multipart(form("a")))
            let request = try #require(await server.takeRequest())
            #expect(request.method.rawValue == method)
            #expect(request.text == part("a", "1") + "--B--\r\n")
        }
        for method in ["GET", "HEAD", "get"] {
            let error = await curlewError {
                _ = try await api.send(HTTPRequest.Method(method)!, "x", .multipart(form("a")))
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.stage == .preparing)
            #expect(error?.uri != nil)
        }
        #expect(server.requestCount == 6)
    }

    @Test("a multipart request without any part is an empty URL-encoded form")
    func noParts() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        for parameters in [nil, [:], ["a": []]] as [ParameterValue?] {
            _ = try await api.post("x", .multipart(parameters: RequestParameters(parameters)) { _ in })
            let request = try #require(await server.takeRequest())
            #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
            #expect(request.fields[.contentLength] == "0")
            #expect(request.bodyLength == 0)
        }
    }

    @Test(
        "a call's Content-Type does not remove the boundary",
        arguments: [
            ("application/json", "multipart/form-data; boundary=B"), ("nonsense", "multipart/form-data; boundary=B"),
            ("multipart/form-data", "multipart/form-data; boundary=B"),
            ("multipart/form-data; boundary=other", "multipart/form-data; boundary=B"),
            (
                "Multipart/Mixed; charset=\"utf-8\"; Boundary=x; a=\"b c\"",
                "multipart/mixed; charset=utf-8; a=\"b c\"; boundary=B"
            ),
        ])
    func contentType(_ given: String, _ sent: String) async throws {
        let server = try await server()
        var api = try makeSession(baseURL: server.url())
        _ = try await api.post("x", .multipart(form("a")), fields: [.contentType: given])
        #expect(await server.takeRequest()?.fields[.contentType] == sent)
        api.defaultFields[.contentType] = given
        _ = try await api.post("x", .multipart(form("a")))
        #expect(await server.takeRequest()?.fields[.contentType] == sent)
        api.defaultFields = HTTPFields()
        var serializer = HTTPRequestSerializer()
        serializer.defaultFields[.contentType] = given
        api.requestSerializer = serializer
        _ = try await api.post("x", .multipart(form("a")))
        #expect(await server.takeRequest()?.fields[.contentType] == sent)
        await server.shutdown()
    }

    @Test("parameters are written in the style of the session's serializer, or become the query")
    func styles() async throws {
        struct Search: Codable, Sendable { var tags = ["x"] }
        let server = try await server()
        var api = try makeSession(baseURL: server.url())
        var base = HTTPRequestSerializer()
        base.style.arrays = .indexed
        let serializers: [any RequestSerializer] = [
            base, JSONRequestSerializer(base: base), PropertyListRequestSerializer(base: base),
            MultipartRequestSerializer(MultipartFormData(), base: base),
        ]
        for serializer in serializers {
            api.requestSerializer = serializer
            _ = try await api.post(
                "x",
                .multipart(parameters: RequestParameters(Search())) { form in
                    try form.append(.bytes([65]), name: "p")
                })
            let text = try #require(await server.takeRequest()?.text)
            #expect(text.contains("name=\"tags[0]\"\r\n\r\nx\r\n"))
        }
        _ = try await api.send(
            .post, "x?a=1", parameters: RequestParameters(Search()),
            encoding: .multipart(form("p"), placement: .query))
        let request = try #require(await server.takeRequest())
        #expect(request.target == "/x?a=1&tags%5B0%5D=x")
        #expect(request.text == part("p", "1") + "--B--\r\n")
    }

    @Test("the serializer works without a session, and refuses a request with a body")
    func alone() throws {
        let request = try CurlewRequest(.put, "http://localhost/x")
        let serializer = MultipartRequestSerializer(try form("a"))
        let made = try serializer.serialize(ParameterValue?.none, into: request)
        #expect(made.body.length == Int64((part("a", "1") + "--B--\r\n").utf8.count))
        var taken = request
        taken.body = .string("x")
        #expect { try serializer.serialize(ParameterValue?.none, into: taken) } throws: {
            ($0 as? CurlewError)?.code == .invalidRequest
        }
    }

    @Test("a form is sent again by a link that repeats, and after a response that came too early")
    func resent() async throws {
        struct Twice: CurlewMiddleware {
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                _ = try await next(request).body.collect(upTo: 100)
                return try await next(request)
            }
        }
        let server = try await server()
        let session = try #require(try makeSession().session)
        let api = try HTTPSession(baseURL: server.url(), transport: session, chain: .bare) { Twice() }
        let folder = try ScratchFolder()
        var form = try form("a")
        try form.append(file: try folder.write("f", Array(repeating: 70, count: 300_000)), name: "f")
        try form.append(.stream { chunks([[71]]) }, name: "s")
        _ = try await api.post("x", .multipart(form))
        let first = try #require(await server.takeRequest())
        let second = try #require(await server.takeRequest())
        #expect(first.body == second.body)
        #expect(first.bodyLength > 300_000)
        try form.append(.once(chunks([[1]])), name: "once")
        let error = await curlewError { _ = try await api.post("x", .multipart(form)) }
        #expect(error?.code == .bodyNotReplayable)
    }

    @Test("a part of unknown length causes chunked coding")
    func chunked() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        var form = try form("a")
        try form.append(.once(chunks([[65], [66]])), name: "s", fileName: "s", contentType: "text/plain")
        _ = try await api.post("x", .multipart(form))
        let request = try #require(await server.takeRequest())
        #expect(request.fields[.contentLength] == nil)
        #expect(request.fields[.transferEncoding] == "chunked")
        #expect(request.text.hasSuffix("Content-Type: text/plain\r\n\r\nAB\r\n--B--\r\n"))
    }

    @Test("a part with a wrong length aborts the request, and the session stays usable")
    func brokenPromise() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        for parts in [[[1]], [[1, 2, 3]]] as [[[UInt8]]] {
            var form = try form("a")
            try form.append(.once(length: 2, chunks(parts)), name: "s")
            let error = await curlewError { _ = try await api.post("x", .multipart(form)) }
            #expect(error?.code == .bodyLengthMismatch)
            #expect(error?.message.contains("part 2 (s)") == true)
        }
        try await api.expectUsable()
    }

    @Test("a part that fails never makes a complete request", arguments: [nil, 1 << 20] as [Int64?])
    func failsHalfway(length: Int64?) async throws {
        struct Broken: Error {}
        let (arrived, announce) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            for try await _ in request.body { announce.yield() }
            return MockResponse()
        }
        let api = try makeSession(baseURL: server.url())
        let (stream, feed) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
        var form = try form("a")
        try form.append(.once(length: length, stream), name: "s")
        feed.yield(Array(repeating: 1, count: 1 << 16))
        let call = Task { [form] in await curlewError { _ = try await api.post("x", .multipart(form)) } }
        for await _ in arrived { break }
        feed.finish(throwing: Broken())
        let error = await call.value
        #expect(error?.code == .bodyFailed)
        #expect(error?.underlying is Broken)
        #expect(error?.message.contains("part 2 (s)") == true)
        let request = try #require(await server.takeRequest())
        #expect(!request.isComplete && request.bodyLength > 0)
        try await api.expectUsable()
    }

    @Test("every character below U+0100 is sent correctly in names, file names and values")
    func everyCharacter() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        let text = String(String.UnicodeScalarView((UInt8.min...UInt8.max).map { UnicodeScalar($0) }))
        let escaped = text.unicodeScalars.map { scalar -> String in
            let isEscaped = scalar == "\"" || scalar.value == 0x7F || (scalar.value < 0x20 && scalar != "\t")
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return isEscaped ? "%" + (digits.count < 2 ? "0" : "") + digits : String(scalar)
        }.joined()
        var form = try form()
        form.append(text, name: text)
        try form.append(.bytes(Array(UInt8.min...UInt8.max)), name: text, fileName: text, contentType: "x/y")
        _ = try await api.post("x", .multipart(form))
        let disposition = "--B\r\nContent-Disposition: form-data; name=\"\(escaped)\""
        let start =
            "\(disposition)\r\n\r\n\(text)\r\n\(disposition); filename=\"\(escaped)\"\r\nContent-Type: x/y\r\n\r\n"
        let expected = Array(start.utf8) + Array(UInt8.min...UInt8.max) + Array("\r\n--B--\r\n".utf8)
        #expect(await server.takeRequest()?.body == expected)
    }

    @Test("the response becomes a value, for each way to send a form")
    func values() async throws {
        let server = try await MockServer.start { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(fields: [.contentType: "application/json"], body: .string("\(min(count, 1))"))
        }
        let api = try makeSession(baseURL: server.url())
        let number: JSONResponseSerializer<Int> = .json(Int.self, options: .anyValue)
        #expect(try await api.post("x", .multipart(form("a")), as: number) == 1)
        #expect(try await api.send(.put, "x", .multipart(form("a")), as: number) == 1)
        #expect(
            try await api.post("x", .multipart(parameters: ["a": 1]) { $0.append("1", name: "b") }, as: number) == 1)
        #expect(
            try await api.post(
                "x", .multipart(parameters: RequestParameters([1: 2])) { $0.append("1", name: "b") }, as: .text) == "1")
        #expect(await server.takeRequest()?.fields[.accept] == "application/json")
    }

    @Test("a file that changed since it was appended fails the call before a request is sent")
    func changedFile() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        var form = try form("a")
        try form.append(file: try folder.write("f", [1]), name: "f")
        try folder.write("f", [1, 2])
        let error = await curlewError { _ = try await api.post("x", .multipart(form)) }
        #expect(error?.code == .bodyLengthMismatch)
        #expect(error?.stage == .preparing)
        #expect(server.requestCount == 0 && server.connectionCounts.accepted == 0)
    }

    @Test("an error thrown by a builder is thrown to the caller, and no request is sent")
    func builderThrows() async throws {
        struct Broken: Error {}
        let api = try makeSession(baseURL: "http://127.0.0.1:1/")
        let foreign = await curlewError { _ = try await api.post("x", .multipart { _ in throw Broken() }) }
        #expect(foreign?.code == .encodingFailed && foreign?.underlying is Broken)
        let own = await curlewError {
            _ = try await api.post("x", .multipart { try $0.append(file: "/nowhere", name: "f") })
        }
        #expect(own?.code == .bodyFailed)
    }
}
