import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@testable import Probe

@Suite("The request that a line describes", .timeLimit(.minutes(1)))
struct RequestTests {
    private func recorded(_ members: String) async throws -> RecordedRequest {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse()
        }
        let answer = try await ProbeDriver().fetch(server.url(), members)
        #expect(answer["status"] == .integer(200), "\(answer)")
        let request = try #require(await server.takeRequest())
        await server.shutdown()
        return request
    }

    @Test("a request is sent with the line's method, fields in their order, and body")
    func message() async throws {
        let request = try await recorded(
            #""method":"PATCH","headers":[["X-One","1"],["x-TWO",""],["X-One","3"]],"body":"aGVsbG8=""#)
        #expect(request.method == .patch)
        let own = request.fields.filter { $0.name.canonicalName.hasPrefix("x-") }
        #expect(own.map { "\($0.name.rawName)=\($0.value)" } == ["X-One=1", "x-TWO=", "X-One=3"])
        #expect(request.text == "hello")
        #expect(request.fields[.contentLength] == "5")
    }

    @Test("an empty body is sent with Content-Length 0, and no body is sent without Content-Length")
    func emptyBody() async throws {
        #expect(try await recorded(#""body":"""#).fields[.contentLength] == "0")
        #expect(try await recorded(#""body":null"#).fields[.contentLength] == nil)
    }

    @Test("every byte that is allowed in a value is sent unchanged, and field names keep their case")
    func rawBytes() async throws {
        let (heads, deliver) = AsyncStream.makeStream(of: [UInt8].self)
        let server = try await RawServer.start { connection in
            deliver.yield(try await connection.readHeadBytes())
            try await connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        }
        let bytes = [UInt8](0x21...0x7E) + [0x20, 0x09] + [UInt8](0x80...0xFF)
        var value: [UInt8] = []
        JSONValue.byteString(bytes).append(to: &value)
        let line = #"{"id":1,"url":"\#(server.url())","headers":[["X-mIxEd","#.utf8 + value + #"],["x-é",""]]}"#.utf8
        let probe = ProbeDriver()
        await probe.send(.line(Array(line)))
        // An invalid field name is reported, not repaired.
        #expect(try await probe.nextLine().contains(#""code":"invalid-request""#))
        let good = #"{"id":2,"url":"\#(server.url())","headers":[["X-mIxEd","#.utf8 + value + "]]}".utf8
        await probe.send(.line(Array(good)))
        #expect(try await probe.answer(to: 2)["status"] == .integer(204))
        let head = try #require(await heads.first { _ in true })
        let expected = Array("\r\nX-mIxEd: ".utf8) + bytes + [13, 10]
        #expect(head.firstRange(of: expected) != nil)
        await server.shutdown()
    }

    @Test(
        "a request that cannot be sent is answered with the library's error code",
        arguments: [
            (#""headers":[["a b","c"]]"#, "invalid-request"), (#""headers":[["a","b\r\nc: d"]]"#, "invalid-request"),
            (#""headers":[["a","b\u0000"]]"#, "invalid-request"), (#""method":"GE T""#, "invalid-request"),
            (#""method":"""#, "invalid-request"), (#""trailers":[["a","b"]]"#, "invalid-request"),
            (#""body":"","trailers":[["Content-Length","b"]]"#, "invalid-request"),
            (#""body_file":"/nowhere/file""#, "body-failed"), (#""body_file":"/tmp""#, "body-failed"),
            (#""body_file":"/tmp","method":"POST","chunked":true"#, "body-failed"),
            (#""body_file":"/nowhere/file","method":"POST","chunked":true"#, "body-failed"),
        ])
    func refused(_ members: String, _ code: String) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        #expect(try await ProbeDriver().fetch(server.url(), members).code == code)
        await server.shutdown()
    }

    @Test(
        "the answer to an invalid URL has the library's error code",
        arguments: [("", "invalid-url"), ("/path", "invalid-url"), ("ftp://127.0.0.1/", "unsupported-scheme")])
    func badURL(_ url: String, _ code: String) async throws {
        #expect(try await ProbeDriver().fetch(url).code == code)
    }

    @Test(
        "a URL is resolved against its base, whose path ends in a slash",
        arguments: [
            ("/v1", "users", "/v1/users"), ("/v1/", "users?a=1", "/v1/users?a=1"), ("/v1/", "/users", "/users"),
            ("/v1/x", "../y", "/v1/y"),
        ])
    func base(_ path: String, _ reference: String, _ target: String) async throws {
        let server = try await MockServer.start { request in MockResponse(body: .string(request.target)) }
        let answer = try await ProbeDriver().fetch(reference, #""base":"\#(server.url(path))""#)
        #expect(answer.bodyText == target && answer.string("url") == server.url(target), "\(answer)")
        let auth = #""base":"\#(server.url(path))","auth":{"scheme":"basic","user":"u","password":"p"}"#
        #expect(try await ProbeDriver().fetch(reference, auth).bodyText == target)
        #expect(try await ProbeDriver().fetch(reference, #""base":"nowhere""#).code == "invalid-url")
        await server.shutdown()
    }

    @Test("a body is sent chunked on request, from memory or from a file", arguments: [true, false])
    func chunked(fromFile: Bool) async throws {
        let bytes = [UInt8](repeating: 0x61, count: 200_000)
        let file = try TemporaryFile(bytes)
        let body = fromFile ? #""body_file":"\#(file.path)""# : #""body":"\#(Data(bytes).base64EncodedString())""#
        let request = try await recorded(#""method":"PUT","chunked":true,\#(body)"#)
        #expect(request.fields[.transferEncoding] == "chunked")
        #expect(request.fields[.contentLength] == nil)
        #expect(request.body == bytes)
    }

    @Test("a chunked request with an empty body consists of the last chunk")
    func chunkedNothing() async throws {
        let request = try await recorded(#""method":"PUT","chunked":true"#)
        #expect(request.fields[.transferEncoding] == "chunked")
        #expect(request.body.isEmpty)
    }

    @Test("a file is sent with its length")
    func file() async throws {
        let bytes = (0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 8) }
        let file = try TemporaryFile(bytes)
        let request = try await recorded(#""method":"PUT","body_file":"\#(file.path)""#)
        #expect(request.fields[.contentLength] == "\(bytes.count)")
        #expect(request.body == bytes)
    }

    @Test("trailers follow the body")
    func trailers() async throws {
        let request = try await recorded(#""method":"PUT","body":"aGk=","trailers":[["X-Sum","7"],["X-Sum","8"]]"#)
        #expect(request.text == "hi")
        #expect(request.trailers.map { "\($0.name)=\($0.value)" } == ["X-Sum=7", "X-Sum=8"])
    }
}
