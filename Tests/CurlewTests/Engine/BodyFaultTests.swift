import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The end of a body", .noLongTurns, .timeLimit(.minutes(2)))
struct BodyFaultTests {
    private func chunked(_ body: String) -> String { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)" }

    @Test(
        "an invalid chunked coding is refused",
        arguments: [
            "zz\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n",
            "5\r\nhelloworld\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n",
            "10000000000000000\r\nhello\r\n0\r\n\r\n",
        ])
    func brokenChunks(_ body: String) async throws {
        let server = try await rawAnswer(chunked(body))
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(
            [.invalidResponse, .connectionLost, .responseTruncated].contains(error?.code),
            "\(String(describing: error))")
        try await session.expectUsable()
    }

    @Test(
        "invalid bytes after a chunk's size are refused where libcurl exposes them",
        arguments: [
            "5zz\r\nhello\r\n0\r\n\r\n", "5 5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0zz\r\n\r\n",
        ])
    func sloppyChunks(_ body: String) async throws {
        let server = try await rawAnswer(chunked(body))
        let session = try makeSession()
        if Engine.showsRawBody {
            let error = await curlewError { _ = try await session.fetch(server.url()) }
            #expect(
                [.invalidResponse, .connectionLost, .responseTruncated].contains(error?.code),
                "\(String(describing: error))")
        } else {
            // libcurl from 8.7 on does not expose the chunk framing. It skips the rest of the line, so the body is
            // correct.
            #expect(try await session.fetch(server.url()) == Array("hello".utf8))
        }
        try await session.expectUsable()
    }

    @Test("a chunked body with extensions, upper-case sizes, leading zeros and trailers is read")
    func goodChunks() async throws {
        let server = try await rawAnswer(chunked("5;a=b\r\nhello\r\n000A \r\n, world!!!\r\n0\r\nX-Sum: 7\r\n\r\n"))
        let response = try await makeSession().get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: 100) == Array("hello, world!!!".utf8))
        #expect(response.body.trailers[HTTPField.Name("X-Sum")!] == "7")
    }

    @Test("trailers that arrive before the body was read are kept apart")
    func trailersBehind() async throws {
        let part = String(repeating: "x", count: 600)
        // The answer is one packet: libcurl keeps the bytes after the first chunk, and joins the trailers.
        let server = try await rawAnswer(
            chunked("258\r\n\(part)\r\n258\r\n\(part)\r\n0\r\nX-Sum: 7\r\nX-Note: a\r\n\r\n"))
        let session = try makeSession { $0.bodyBufferSize = 1000 }
        let response = try await session.get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: 2000).count == 1200)
        #expect(response.body.trailers.map(\.value) == ["7", "a"])
        try await session.expectUsable()
    }

    @Test("a declared length allocates no memory before its bytes arrive")
    func hugeLength() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 200000000000\r\n\r\nx")
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.get(.raw(server.url())).body.collect(upTo: ByteSize(.max))
        }
        #expect(error?.code == .responseTruncated)
        try await session.expectUsable()
    }

    @Test(
        "a body that ends early is truncated, and its bytes before that can be read",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhello",
        ])
    func truncated(_ answer: String) async throws {
        let server = try await rawAnswer(answer)
        let session = try makeSession()
        let response = try await session.get(.raw(server.url()))
        var read: [UInt8] = []
        let error = await curlewError { for try await chunk in response.body { read += chunk } }
        #expect(error?.code == .responseTruncated)
        #expect(error?.stage == .receiving)
        #expect(error?.response?.status == .ok)
        #expect(read == Array("hello".utf8))
        try await session.expectUsable()
    }

    @Test("a reset within the body is a lost connection")
    func resetInBody() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            await connection.reset()
        }
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect([.connectionLost, .responseTruncated].contains(error?.code))
        try await session.expectUsable()
    }

    @Test("bytes beyond Content-Length belong neither to the body nor to the next answer")
    func tooLong() async throws {
        let server = try await RawServer.start { connection in
            for _ in 0..<2 {
                _ = try await connection.readHead()
                try await connection.write(
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 666 Bad\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let session = try makeSession()
        for _ in 0..<3 {
            let response = try await session.get(.raw(server.url()))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 100) == Array("hello".utf8))
        }
    }

    /// Responses with bytes behind their end, which the server has sent too early.
    private static let excessive = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
    ]

    @Test("a connection with bytes behind a response carries no other request", arguments: excessive, [false, true])
    func excess(behind answer: String, usesTLS: Bool) async throws {
        try await expectNewConnection(after: answer, usesTLS: usesTLS)
        try await expectNewConnection(after: answer, usesTLS: usesTLS, parts: 2)
    }

    @Test("a connection with bytes behind a response to HEAD carries no other request", arguments: [false, true])
    func excess(behindHead usesTLS: Bool) async throws {
        try await expectNewConnection(
            after: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", of: .head, usesTLS: usesTLS)
    }

    /// - Parameter parts: The number of writes for the response. The excess is part of the last one.
    private func expectNewConnection(
        after answer: String, of method: HTTPRequest.Method = .get, usesTLS: Bool, parts: Int = 1
    ) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await RawServer.start(tls: usesTLS ? ServerTLS([certificate]) : nil) { connection in
            _ = try await connection.readHead()
            guard connection.index == 0 else {
                return try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
            }
            let bytes = Array("\(answer)HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8)
            let middle = parts == 1 ? 0 : 20
            try await connection.write(Array(bytes[..<middle]))
            try await connection.write(Array(bytes[middle...]))
            // These bytes would complete a response to the next request.
            guard (try? await connection.readHead()) != nil else { return }
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse")
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        _ = try await session.send(method, .raw(server.url())).body.collect(upTo: 10)
        #expect(try await session.fetch(server.url()) == Array("true".utf8), "\(answer)")
        #expect(server.accepted == 2)
    }

    @Test("a body without a length ends with the connection")
    func untilClose() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\n\r\nuntil the end")
        #expect(try await makeSession().fetch(server.url()) == Array("until the end".utf8))
    }

    @Test(
        "204, 304 and HEAD have no body, whatever the value of Content-Length",
        arguments: [("GET", 204), ("GET", 304), ("HEAD", 200)])
    func bodiless(method: String, status: Int) async throws {
        let server = try await RawServer.start { connection in
            for _ in 0..<2 {
                _ = try await connection.readHead()
                try await connection.write("HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\n")
            }
        }
        let session = try makeSession()
        for _ in 0..<2 {
            let response = try await session.send(HTTPRequest.Method(method)!, .raw(server.url()))
            #expect(response.status.code == status)
            #expect(try await response.body.collect(upTo: 10) == [])
        }
        #expect(server.accepted == 1)
    }
}
