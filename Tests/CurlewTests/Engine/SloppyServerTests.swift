import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Logging
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Tolerated faults of servers", .endsServers, .timeLimit(.minutes(2)))
struct SloppyServerTests {
    private static let mark = HTTPField.Name("X-Mark")!

    @Test("a control character in a field's value is kept, and the response is accepted")
    func controlCharacters() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nX-Mark: a\u{1}b\u{7F}\u{1B}[31m\r\n c\u{8}\r\nContent-Length: 2\r\n\r\nok")
        let response = try await makeSession().get(.raw(server.url()))
        #expect(response.fields[Self.mark] == "a\u{1}b\u{7F}\u{1B}[31m c\u{8}")
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
    }

    @Test("a control character in a trailer is kept")
    func trailers() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Mark: a\u{1}b\r\n\r\n")
        let response = try await makeSession().get(.raw(server.url()))
        _ = try await response.body.collect(upTo: 10)
        #expect(response.body.trailers[Self.mark] == "a\u{1}b")
    }

    @Test("a received value with a control character is not sent again, and is escaped in logs and errors")
    func controlCharactersElsewhere() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 302 Found\r\nX-Mark: a\u{1}\u{1B}b\u{9B}c\r\nLocation: /a\u{1B}[2Jb\r\nContent-Length: 0\r\n\r\n")
        let log = RecordingLog()
        let session = try makeSession()
        let response = try await session.get(.raw(server.url()))
        let field = HTTPField(
            name: Self.mark, lenientValue: Array(try #require(response.fields[Self.mark]).utf8))
        var request = CurlewRequest(.get, response.uri)
        request.fields.append(field)
        let refusal = await curlewError { _ = try await session.send(request) }
        #expect(refusal?.code == .invalidRequest)
        let following = try makeSession {
            RequestLogging(log.logger(.trace))
            Redirects()
        }
        let error = await curlewError { _ = try await following.get(.raw(server.url())) }
        #expect(error?.code == .invalidRedirect)
        let logging = try makeSession { RequestLogging(log.logger(.trace)) }
        _ = try await logging.get(.raw(server.url()))
        let texts = log.lines.flatMap { line in ["fields", "message", "uri"].compactMap { line[$0] } }
        #expect(texts.contains { $0.contains("X-Mark: a\u{FFFD}\u{FFFD}b\u{FFFD}c") })
        for text in texts + ["\(error as Any)", "\(refusal as Any)"] {
            let controls = text.unicodeScalars.filter { $0.properties.generalCategory == .control }
            #expect(controls.isEmpty, "\(text)")
        }
    }

    @Test("a cookie with a control character is dropped, and other cookies are kept")
    func cookies() async throws {
        let jar = CookieJar()
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=\u{1}2\r\nSet-Cookie: c=3\r\nContent-Length: 0\r\n\r\n"
        )
        let response = try await makeSession { CookieHandling(jar) }.get(.raw(server.url()))
        #expect(response.status == .ok)
        #expect(jar.cookies.map(\.name) == ["a", "c"])
    }

    @Test(
        "a challenge with a control character is refused, because an answer would repeat it",
        arguments: [(401, "WWW-Authenticate"), (407, "Proxy-Authenticate")])
    func challenges(_ status: Int, _ name: String) async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 \(status) No\r\n\(name): Digest realm=\"a\u{1}b\", nonce=\"c\"\r\nContent-Length: 0\r\n\r\n")
        let session = try makeSession()
        #expect(await curlewError { _ = try await session.get(.raw(server.url())) }?.code == .invalidResponse)
    }

    @Test("an undefined status is a response", arguments: [600, 799, 999])
    func statuses(_ status: Int) async throws {
        let server = try await rawAnswer("HTTP/1.1 \(status) Odd\r\nContent-Length: 2\r\n\r\nok")
        let session = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")])
        let response = try await session.get(.raw(server.url()))
        #expect(response.status.code == status)
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        let error = await curlewError { _ = try await session.get(.raw(server.url()), as: JSONValue.self) }
        #expect(error?.code == .unacceptableStatus)
    }

    @Test(
        "a reason phrase is read as ISO 8859-1, and may be missing or unusual",
        arguments: [
            ([], ""), ([0x20], ""), ([0x20, 0x47, 0xFC, 0x74], "Güt"), ([0x20, 0x41, 0x01, 0x42], "A B"),
            ([0x20, 0xC3, 0xA9], "Ã©"),
        ] as [([UInt8], String)])
    func reasons(_ reason: [UInt8], _ expected: String) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(
                Array("HTTP/1.1 200".utf8) + reason + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        #expect(try await makeSession().get(.raw(server.url())).status.reasonPhrase == expected)
    }

    @Test("repeated equal lengths are one length", arguments: ["5, 5", "5,5 ,\t5", "5\r\nContent-Length: 5, 5"])
    func repeatedLength(_ value: String) async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nhello, and more")
        let response = try await makeSession().get(.raw(server.url()))
        #expect(response.contentLength == 5)
        #expect(response.body.length == 5)
        #expect(try await response.body.collect(upTo: 100) == Array("hello".utf8))
    }

    @Test(
        "chunked coding overrides Content-Length, and the connection is not reused",
        arguments: [true, false], [HTTPRequest.Method.get, .post])
    func chunkedWithLength(isLengthFirst: Bool, method: HTTPRequest.Method) async throws {
        let fields = ["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"]
        let head = "HTTP/1.1 200 OK\r\n" + (isLengthFirst ? fields : fields.reversed()).joined() + "\r\n"
        let server = try await RawServer.start { connection in
            // Every request on the connection gets the answer, a second one too.
            while true {
                _ = try await connection.readHead()
                try await connection.write(head + "5\r\nhello\r\n0\r\n\r\n")
            }
        }
        let session = try makeSession()
        for _ in 0..<3 {
            let response = try await session.send(try CurlewRequest(method, server.url()))
            #expect(response.contentLength == nil && response.body.length == nil)
            #expect(try await response.body.collect(upTo: 100) == Array("hello".utf8))
            #expect(await response.task?.metrics.last?.isReused == false)
        }
    }
}
