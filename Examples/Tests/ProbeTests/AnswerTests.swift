import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("The answer of a request", .timeLimit(.minutes(1)))
struct AnswerTests {
    @Test("the members of an answer are in their documented order, with the id first")
    func order() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 203 Quite Fine\r\nX-CaSe: a\r\nContent-Length: 5\r\nx-case:  b \r\n\r\nhello")
        let probe = ProbeDriver()
        await probe.send(#"{"url":"\#(server.url("/a?b=c#d"))","id":"x"}"#)
        let expected =
            #"{"id":"x","status":203,"reason":"Quite Fine","headers":[["X-CaSe","a"],["Content-Length","5"],"#
            + #"["x-case","b"]],"body":"aGVsbG8=","url":"\#(server.url("/a?b=c#d"))","redirects":0,"history":[],"#
            + #""http_version":"1.1","reused":false,"trailers":[],"interim":[],"cache_status":"miss","metrics":{"dns":"#
        #expect(try await probe.nextLine().hasPrefix(expected))
        await server.shutdown()
    }

    @Test("metrics are times in seconds and counts of bytes")
    func metrics() async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        let server = try await rawAnswer(response)
        let answer = try await ProbeDriver().fetch(server.url(), #""method":"PUT","body":"aGk=""#)
        let metrics = try #require(answer["metrics"])
        let total = try #require(metrics.number("total"))
        for name in ["dns", "connect", "first_byte"] {
            let time = try #require(metrics.number(name))
            #expect(time >= 0 && time <= total)
        }
        #expect(total > 0 && total < 60)
        #expect(metrics["tls"] == .null)
        #expect(metrics["received"] == .integer(response.utf8.count))
        #expect(try #require(metrics.number("sent")) > 50)
        #expect(metrics["attempts"] == .integer(1))
        await server.shutdown()
    }

    @Test("every byte of a value is returned as a code point")
    func rawBytes() async throws {
        let bytes = [UInt8](0x21...0x7E) + [0x20, 0x09] + [UInt8](0x80...0xFF)
        let server = try await rawAnswer(
            Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-rAw: ".utf8) + bytes + [13, 10, 13, 10])
        let answer = try await ProbeDriver().fetch(server.url())
        let expected = JSONValue.array([.string("X-rAw"), .byteString(bytes)])
        #expect(answer["headers"] == .array([.array([.string("Content-Length"), .string("0")]), expected]))
        await server.shutdown()
    }

    @Test("an answer contains the interim responses and the trailers")
    func interimAndTrailers() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 7\r\n\r\n")
        let answer = try await ProbeDriver().fetch(server.url())
        #expect(answer.bodyText == "hi")
        #expect(
            answer["interim"]
                == .array([
                    .array([.integer(103), .fields(("Link", "</a>"))]), .array([.integer(102), .array([])]),
                ]))
        #expect(answer["trailers"] == .fields(("X-Sum", "7")))
        await server.shutdown()
    }

    @Test("bodies of many megabytes pass complete in both directions")
    func bigBodies() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .bytes(try await request.body.collect(upTo: 32 << 20)))
        }
        let bytes = (0..<(12 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 4) }
        let file = try TemporaryFile(bytes)
        let answer = try await ProbeDriver().fetch(server.url(), #""method":"PUT","body_file":"\#(file.path)""#)
        let body = try #require(answer.string("body"))
        // The text of the received body can be sent as a body again, with the same bytes.
        let again = try await ProbeDriver().fetch(server.url(), #""method":"PUT","body":"\#(body)""#)
        #expect(again.bodyBytes == bytes)
        await server.shutdown()
    }

    @Test(
        "a body that breaks off is answered with its error and the bytes received so far",
        arguments: [
            ("Content-Length: 9\r\n\r\nhello", "hello", "response-truncated"),
            ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n4\r\n", "hello", "response-truncated"),
            // The library returns no bytes of a read with broken framing.
            ("Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello", "", "invalid-response"),
        ])
    func bodyError(_ rest: String, _ body: String, _ code: String) async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\n" + rest)
        let answer = try await ProbeDriver().fetch(server.url())
        #expect(answer["status"] == .integer(200))
        #expect(answer.bodyText == body)
        #expect(answer.string("body_error")?.isEmpty == false)
        #expect(answer.code == code)
        #expect(answer["error"] == nil)
        #expect(answer["metrics"]?["attempts"] == .integer(1))
        await server.shutdown()
    }

    @Test("a body beyond the limit ends with an error", arguments: [true, false])
    func bodyLimit(isLengthKnown: Bool) async throws {
        let server = try await MockServer.start { _ in
            var response = MockResponse(body: .pattern(count: 100_000))
            if !isLengthKnown { response.framing = .chunked }
            return response
        }
        let probe = ProbeDriver()
        let answer = try await probe.fetch(server.url(), #""max_body":99999"#)
        #expect(answer["status"] == .integer(200))
        #expect(answer.code == "response-too-large")
        #expect(answer.string("body_error") == "the body is larger than 99999 bytes")
        #expect(try #require(answer.bodyBytes).count == (isLengthKnown ? 0 : 99_999))
        let whole = try await probe.fetch(server.url(), #""max_body":100000"#)
        #expect(whole["body_error"] == nil)
        #expect(BytePattern.matches(try #require(whole.bodyBytes)[...], at: 0))
        await server.shutdown()
    }

    @Test("the answer for an error has a message and a code, and nothing else")
    func errors() async throws {
        let refused = try RefusedPort.unused()
        let probe = ProbeDriver()
        await probe.send(#"{"id":2,"url":"\#(refused.url())"}"#)
        let expected =
            #"{"id":2,"error":"could not connect to 127.0.0.1:\#(refused.port): connection refused","#
            + #""code":"connection-refused"}"#
        #expect(try await probe.nextLine() == expected)
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Le")
        #expect(try await probe.fetch(server.url()).code == "connection-lost")
        await server.shutdown()
    }
}
