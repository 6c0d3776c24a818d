import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Checks of a response head", .noLongTurns, .timeLimit(.minutes(2)))
struct HeadFaultTests {
    @Test(
        "a first line that is not a status line is refused",
        arguments: [
            "http/1.1 200 OK", "Http/1.1 200 OK", "HTTP/1.1 200OK", "HTTP/-1.1 200 OK", "HTTP/ 1.1 200 OK",
            "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc OK", "HTTP/1.1 099 OK",
            "HTTP/3.1 200 OK", "HTTP/2 200 OK", "ICY 200 OK", "SSH-2.0-OpenSSH_9.2",
            "\u{0}\u{1}\u{2}",
            "HTTP/1.1 200 O\rK", "HTTP/1.1",
        ])
    func badStatusLine(_ line: String) async throws {
        try await expect(.invalidResponse, for: "\(line)\r\nContent-Length: 2\r\n\r\nok")
    }

    @Test(
        "malformed fields are refused",
        arguments: [
            "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", ": value", "No colon at all", "Na me: value",
            "Name: val\rue", "Name: val\u{0}ue", "N\u{e4}me: value", " Folded: first",
            "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 3", "Content-Length: 2,",
            "Content-Length: ,2", "Content-Length: 2, 2 2", "Content-Length: 2, 2\r\nContent-Length: 3",
            "Content-Length: +2", "Content-Length: 2x", "Content-Length: 0x2", "Content-Length: 2.0",
            "Content-Length: 2 2", "Content-Length: -2", "Content-Length:", "Content-Length: 9223372036854775808",
            "Content-Length: 99999999999999999999",
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: xchunked",
            "Transfer-Encoding:\r\n chunked", "Content-Length:\r\n 2",
        ])
    func badField(_ field: String) async throws {
        // libcurl from 8.18 on joins folded lines itself, so that both read the same length.
        if field == "Content-Length:\r\n 2", Engine.versionNumber >= 0x081200 {
            let server = try await rawAnswer("HTTP/1.1 200 OK\r\n\(field)\r\n\r\nok")
            return #expect(try await makeSession().fetch(server.url()) == Array("ok".utf8))
        }
        try await expect(.invalidResponse, for: "HTTP/1.1 200 OK\r\n\(field)\r\n\r\nok")
    }

    // libcurl before 8.1.0 joins such a line to one of the handle's previous answer, whose memory is freed by then.
    @Test("a folded first field line is refused on a reused handle")
    func foldedAfterAnother() async throws {
        let honest = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let hostile = try await rawAnswer("HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 0\r\n\r\n")
        let session = try makeSession()
        for _ in 0..<3 {
            #expect(try await session.fetch(honest.url()).isEmpty)
            for _ in 0..<2 {
                let error = await curlewError { _ = try await session.fetch(hostile.url()) }
                #expect(error?.code == .invalidResponse)
            }
        }
        try await session.expectUsable()
    }

    @Test("a folded first field line is refused after a redirect")
    func foldedAfterRedirect() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            try await connection.write(
                head.contains("/again")
                    ? "HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
        }
        let session = try makeSession { Redirects() }
        for _ in 0..<3 {
            let error = await curlewError { _ = try await session.fetch(server.url()) }
            #expect(error?.code == .invalidResponse)
        }
        try await session.expectUsable()
    }

    @Test(
        "a truncated head is a failure",
        arguments: [
            "", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n",
        ])
    func cutShort(_ head: String) async throws {
        let server = try await rawAnswer(head)
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect([.connectionLost, .invalidResponse].contains(error?.code), "\(head): \(String(describing: error))")
        try await session.expectUsable()
    }

    @Test(
        "a reset within the head is a lost connection",
        arguments: ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"])
    func resetInHead(_ head: String) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(head)
            await connection.reset()
        }
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .connectionLost)
        #expect(error?.method == .get)
        #expect(error?.stage == .exchanging)
        try await session.expectUsable()
    }

    @Test("a head of 100 KiB is accepted, and one beyond the limit is refused")
    func bigHead() async throws {
        let lines = (0..<100).map { "Field-\($0): \(String(repeating: "v", count: 1010))\r\n" }.joined()
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 2\r\n\r\nok")
        let session = try makeSession()
        #expect(try await session.get(.raw(server.url())).fields.count == 101)
        let small = try makeSession { $0.limits.headSize = .kibibytes(64) }
        let error = await curlewError { _ = try await small.fetch(server.url()) }
        #expect(error?.code == .responseHeadTooLarge)
        try await small.expectUsable()
    }

    @Test("a single line of 200 KiB is too large")
    func bigLine() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "v", count: 200_000))\r\nContent-Length: 2\r\n\r\nok")
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .responseHeadTooLarge)
        try await session.expectUsable()
    }

    @Test("10,000 fields are too many")
    func manyFields() async throws {
        let lines = (0..<10_000).map { "F\($0): v\r\n" }.joined()
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 2\r\n\r\nok")
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .responseHeadTooLarge)
        try await session.expectUsable()
    }

    @Test("a folded value, an equal second Content-Length, and odd case and spaces are accepted")
    func lenient() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 \r\nx-fold: one\r\n  two\r\n\tthree\r\ncOnTeNt-LeNgTh: \t 2 \r\nContent-Length: 2\r\nE:\r\n\r\nok"
        )
        let response = try await makeSession().get(.raw(server.url()))
        #expect(response.fields[HTTPField.Name("X-Fold")!] == "one two three")
        #expect(response.fields[HTTPField.Name("E")!] == "")
        #expect(response.head.status.reasonPhrase == "")
        #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
    }

    @Test("an unrequested 101 is refused")
    func switchingProtocols() async throws {
        try await expect(.invalidResponse, for: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    }

    @Test("interim responses are delivered to the response and the task's stream, and more than a hundred are an error")
    func interim() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let session = try makeSession()
        let task = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        let stream = await task.interimResponses
        task.resume()
        let response = try await task.response()
        #expect(response.interim.map(\.status.code) == [103, 102])
        #expect(response.interim.first?.headerFields[HTTPField.Name("Link")!] == "</a>")
        var seen: [Int] = []
        for await interim in stream { seen.append(interim.status.code) }
        #expect(seen == [103, 102])
        let flood = String(repeating: "HTTP/1.1 103 E\r\n\r\n", count: 200)
        try await expect(.invalidResponse, for: flood + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    private func expect(
        _ code: ErrorCode, for answer: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let server = try await rawAnswer(answer)
        let session = try makeSession()
        let error = await curlewError(sourceLocation: sourceLocation) { _ = try await session.fetch(server.url()) }
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
        try await session.expectUsable(sourceLocation: sourceLocation)
    }
}
