import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The length and the repetition of sent bodies", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct UploadTests {
    /// A server that accepts any upload and answers with its length.
    private func counter(_ configuration: MockServer.Configuration = .init()) async throws -> MockServer {
        try await MockServer.start(configuration) { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
    }

    private func chunks(_ count: Int, of size: Int = 1000) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for index in 0..<count { continuation.yield(Array(repeating: UInt8(index % 256), count: size)) }
            continuation.finish()
        }
    }

    @Test("Content-Length is sent if the length is known, and chunked coding otherwise")
    func framing() async throws {
        let server = try await counter()
        let session = try makeSession()
        let file = try TemporaryFile(bytes: 5000)
        let bodies: [(CurlewRequest.Body, String?, String)] = [
            (.none, "0", "0"), (.bytes([]), "0", "0"), (.bytes([1, 2, 3]), "3", "3"),
            (.bytes(Array(repeating: 1, count: 300_000)), "300000", "300000"), (.string("h\u{e9}"), "3", "3"),
            (.file(file.path), "5000", "5000"), (.file(file.path, offset: 1000), "4000", "4000"),
            (.file(file.path, offset: 1000, length: 500), "500", "500"),
            (.once(length: 3000, chunks(3)), "3000", "3000"),
            (.once(chunks(3)), nil, "3000"), (.stream(length: 2000) { [self] in chunks(2) }, "2000", "2000"),
            (.stream { [self] in chunks(0) }, nil, "0"),
        ]
        for (body, length, answer) in bodies {
            let response = try await session.put(.raw(server.url()), .body(body))
            #expect(try await response.body.collect(upTo: 100) == Array(answer.utf8))
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.fields[.contentLength] == length)
            let isChunked = length == nil && !body.isNone
            #expect(recorded.fields[.transferEncoding] == (isChunked ? "chunked" : nil))
            #expect(recorded.fields[.expect] == nil)
            #expect(recorded.fields[.contentType] == nil)
        }
    }

    @Test("a stream that yields more than announced fails before the first extra byte")
    func tooLong() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            received.yield(try await connection.drain())
        }
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.put(.raw(server.url()), .body(.once(length: 2500, chunks(3))))
        }
        #expect(error?.code == .bodyLengthMismatch)
        for await count in counts {
            #expect(count <= 2500)
            break
        }
    }

    private let counts: AsyncStream<Int>
    private let received: AsyncStream<Int>.Continuation

    init() { (counts, received) = AsyncStream.makeStream(of: Int.self) }

    @Test("a stream that yields less than announced fails")
    func tooShort() async throws {
        let server = try await counter()
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.put(.raw(server.url()), .body(.once(length: 5000, chunks(3))))
        }
        #expect(error?.code == .bodyLengthMismatch)
        try await session.expectUsable()
    }

    @Test("a stream that throws fails the request, with its error as the cause")
    func failing() async throws {
        struct Broken: Error {}
        let server = try await counter()
        let session = try makeSession()
        let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([1])
            continuation.finish(throwing: Broken())
        }
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(.once(stream))) }
        #expect(error?.code == .bodyFailed)
        #expect(error?.underlying is Broken)
        try await session.expectUsable()
    }

    @Test("a file that is missing, a folder, or too short for its range is an error before a request is sent")
    func badFiles() async throws {
        let session = try makeSession()
        let file = try TemporaryFile(bytes: 10)
        let bodies: [(CurlewRequest.Body, ErrorCode)] = [
            (.file("/nowhere/at/all"), .bodyFailed), (.file("/tmp"), .bodyFailed),
            (.file(file.path, offset: 11), .bodyLengthMismatch),
            (.file(file.path, offset: 0, length: 11), .bodyLengthMismatch),
        ]
        for (body, code) in bodies {
            let error = await curlewError { _ = try await session.put("http://127.0.0.1:1/", .body(body)) }
            #expect(error?.code == code)
            #expect(error?.stage == .preparing)
        }
    }

    @Test("a single-use body is not sent a second time")
    func oneShot() async throws {
        let server = try await counter()
        let session = try makeSession()
        let body = CurlewRequest.Body.once(length: 1000, chunks(1))
        #expect(!body.isReplayable)
        _ = try await session.put(.raw(server.url()), .body(body))
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(body)) }
        #expect(error?.code == .bodyNotReplayable)
    }

    @Test("trailers on a handle do not affect the next chunked body")
    func afterTrailers() async throws {
        let server = try await counter()
        let session = try makeSession()
        let body = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { chunks in
                for byte in UInt8(0)..<50 { chunks.yield(Array(repeating: byte, count: 5000)) }
                chunks.finish()
            }
        }
        for round in 0..<6 {
            var request = try CurlewRequest(.put, server.url(), body: body)
            if round.isMultiple(of: 2) { request.trailers[HTTPField.Name("X-Sum")!] = "6" }
            _ = try await session.send(request).body.collect(upTo: .mebibytes(1))
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.bodyLength == 250_000 && recorded.body.last == 49)
            #expect(recorded.trailers.count == (round.isMultiple(of: 2) ? 1 : 0))
        }
    }

    @Test("trailers follow a chunked body over HTTP/1.1")
    func trailers() async throws {
        let server = try await counter()
        let session = try makeSession()
        var request = try CurlewRequest(.put, server.url(), body: .bytes([1, 2, 3]))
        request.trailers[HTTPField.Name("X-Sum")!] = "6"
        _ = try await session.send(request)
        let recorded = try #require(await server.takeRequest())
        #expect(recorded.trailers[HTTPField.Name("X-Sum")!] == "6")
        #expect(recorded.fields[.trailer] == "X-Sum")
    }

    @Test("both directions are transferred at the same time", arguments: [false, true])
    func echo(http2: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        if http2 { configuration.tls = ServerTLS([certificate]) }
        let server = try await MockServer.start(configuration) { request in
            MockResponse(
                body: .stream { writer in
                    for try await chunk in request.body { try await writer.write(chunk) }
                })
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        // Each chunk is sent only after the previous one was returned.
        let (stream, feed) = AsyncStream.makeStream(of: [UInt8].self)
        feed.yield([0])
        let response = try await session.post(.raw(server.url()), .body(.once(stream)))
        #expect(response.version == (http2 ? .http2 : .http11))
        var next: UInt8 = 0
        for try await chunk in response.body {
            for byte in chunk {
                #expect(byte == next)
                next += 1
                if next < 50 { feed.yield([next]) } else { feed.finish() }
            }
        }
        #expect(next == 50)
    }

    @Test("a 64 MiB upload arrives complete, from a file and from a stream")
    func large() async throws {
        let server = try await counter()
        let session = try makeSession()
        let file = try TemporaryFile(bytes: 64 << 20)
        let first = try await session.put(.raw(server.url()), .body(.file(file.path)))
        #expect(try await first.body.collect(upTo: 100) == Array("\(64 << 20)".utf8))
        let second = try await session.put(.raw(server.url()), .body(.once(chunks(64, of: 1 << 20))))
        #expect(try await second.body.collect(upTo: 100) == Array("\(64 << 20)".utf8))
    }

    @Test(
        "a response of a server that then closes is delivered, although the body is incomplete",
        arguments: [
            ("a length", "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull", false),
            (
                "chunks",
                "HTTP/1.1 413 Too Large\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfull\r\n0\r\n\r\n",
                false
            ),
            ("the end of the connection", "HTTP/1.1 413 Too Large\r\n\r\nfull", true),
            ("the end of a success", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfull", true),
            (
                "an end after chunks",
                "HTTP/1.1 403 No\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfull\r\n0\r\nX-A: b\r\n\r\n",
                true
            ),
        ])
    func answeredEarly(_ framing: String, _ answer: String, _ ends: Bool) async throws {
        // libcurl from 8.7 on does not expose the last chunk.
        if framing == "an end after chunks", !Engine.showsRawBody { return }
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(answer)
            if ends { try await connection.halfClose() }
            while try await connection.read() != nil {}
        }
        let session = try makeSession()
        let (chunks, chunk) = AsyncStream.makeStream(of: [UInt8].self)
        chunk.yield(Array("a part".utf8))
        let response = try await session.send(CurlewRequest(.put, server.url(), body: .once(chunks)))
        #expect(try await response.body.collect(upTo: 100) == Array("full".utf8))
        #expect(response.body.trailers.isEmpty != answer.contains("X-A"))
        chunk.finish()
        await session.shutdown()
        await server.shutdown()
    }

    /// libcurl reads such a response before it watches the connection.
    @Test("a response that arrives before the request was sent is delivered, although the body has not begun")
    func answeredFirst() async throws {
        let server = try await RawServer.start { connection in
            try await connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nfull")
            while try await connection.read() != nil {}
        }
        let session = try makeSession()
        for number in 1...30 {
            let (chunks, chunk) = AsyncStream.makeStream(of: [UInt8].self)
            let response = try await session.send(CurlewRequest(.put, server.url(), body: .once(chunks)))
            #expect(try await response.body.collect(upTo: 100) == Array("full".utf8))
            #expect(server.accepted == number)
            chunk.finish()
        }
    }

    @Test("a truncated response is an error, although the body is incomplete")
    func brokenEarly() async throws {
        for framing in ["Content-Length: 9\r\n\r\nfull", "Transfer-Encoding: chunked\r\n\r\n4\r\nfull\r\n"] {
            if framing.hasPrefix("Transfer"), !Engine.showsRawBody { continue }
            let server = try await RawServer.start { connection in
                _ = try await connection.readHead()
                try await connection.write("HTTP/1.1 413 Too Large\r\nConnection: close\r\n\(framing)")
                try await connection.halfClose()
                while try await connection.read() != nil {}
            }
            let session = try makeSession()
            let (chunks, chunk) = AsyncStream.makeStream(of: [UInt8].self)
            chunk.yield(Array("a part".utf8))
            let response = try await session.send(CurlewRequest(.put, server.url(), body: .once(chunks)))
            let error = await curlewError { _ = try await response.body.collect(upTo: 100) }
            #expect(error?.code == .responseTruncated)
            chunk.finish()
            await session.shutdown()
            await server.shutdown()
        }
    }
}

/// A file of zeros that is deleted with this object.
final class TemporaryFile: Sendable {
    let path: String

    init(bytes: Int) throws {
        var template = Array("/tmp/curlew-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        guard descriptor >= 0, ftruncate(descriptor, off_t(bytes)) == 0 else {
            throw CurlewError(.bodyFailed, "no temporary file")
        }
        close(descriptor)
    }

    deinit { unlink(path) }
}
