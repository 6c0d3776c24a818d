import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

@Suite("Compression of request bodies", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RequestCompressionTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
    }

    private func session(_ link: RequestCompression) throws -> HTTPSession {
        try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare) { link }
    }

    private let text = Array(repeating: Array("curlews whistle. ".utf8), count: 20_000).flatMap { $0 }

    private func chunks(_ bytes: [UInt8], of size: Int) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: size) {
                continuation.yield(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            continuation.finish()
        }
    }

    @Test(
        "bodies of every kind arrive complete in both codings", arguments: [RequestCompression.Format.gzip, .deflate])
    func kinds(_ format: RequestCompression.Format) async throws {
        let server = try await server()
        let file = try TemporaryFile(bytes: 300_000)
        let zeros = Array(repeating: UInt8(0), count: 300_000)
        let text = self.text
        let bodies: [(CurlewRequest.Body, [UInt8], Bool)] = [
            (.bytes(text), text, true), (.file(file.path), zeros, false),
            (.file(file.path, offset: 5, length: 70_000), Array(zeros.prefix(70_000)), false),
            (.stream { [self] in chunks(text, of: 1000) }, text, false),
            (.stream(length: Int64(text.count)) { [self] in chunks(text, of: 300_000) }, text, false),
            (.once(chunks(text, of: 7)), text, false),
            (.once(length: Int64(text.count), chunks(text, of: 999)), text, false),
            (.stream { [self] in chunks([], of: 1) }, [], false),
        ]
        for (body, expected, isWhole) in bodies {
            _ = try await session(RequestCompression(format)).post(.raw(server.url()), .body(body))
            let request = try #require(await server.takeRequest())
            #expect(request.fields[values: .contentEncoding] == [format.name])
            #expect(request.fields[.contentLength] == (isWhole ? "\(request.bodyLength)" : nil))
            #expect(request.fields[.transferEncoding] == (isWhole ? nil : "chunked"))
            #expect(try inflated(request.body) == expected)
            #expect(expected.isEmpty || request.bodyLength < expected.count / 10)
        }
    }

    @Test("a body beyond the buffer limit is streamed, with the same result each time")
    func streamedBytes() async throws {
        let server = try await server()
        var link = RequestCompression()
        link.wholeLimit = 1000
        let api = try session(link)
        var bodies: [[UInt8]] = []
        for _ in 0..<2 {
            _ = try await api.post(.raw(server.url()), .body(.bytes(text)))
            let request = try #require(await server.takeRequest())
            #expect(request.fields[.contentLength] == nil)
            bodies.append(request.body)
        }
        #expect(bodies[0] == bodies[1])
        #expect(try inflated(bodies[0]) == text)
    }

    @Test("a body that does not become smaller, or must not change, is sent uncompressed")
    func untouched() async throws {
        let server = try await server()
        var generator = SystemRandomNumberGenerator()
        let random = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let digest = try #require(HTTPField.Name("Content-Digest"))
        let cases: [(CurlewRequest.Body, HTTPFields, [UInt8])] = [
            (.none, [:], []), (.bytes([]), [:], []), (.string("short"), [:], Array("short".utf8)),
            (.bytes(random), [:], random), (.bytes(text), [.contentEncoding: "br"], text),
            (.bytes(text), [.contentRange: "bytes 0-9/10"], text), (.bytes(text), [digest: "x"], text),
            (
                .stream(length: 10) { [self] in chunks(Array(repeating: 1, count: 10), of: 5) }, [:],
                Array(repeating: 1, count: 10)
            ),
        ]
        let api = try session(RequestCompression())
        for (body, fields, expected) in cases {
            _ = try await api.post(.raw(server.url()), .body(body), fields: fields)
            let request = try #require(await server.takeRequest())
            #expect(request.fields[.contentEncoding] == fields[.contentEncoding])
            #expect(request.body == expected)
            #expect(request.fields[.contentLength] == "\(expected.count)")
        }
    }

    @Test("a length that the caller set is removed")
    func givenLength() async throws {
        let server = try await server()
        let api = try session(RequestCompression())
        _ = try await api.post(.raw(server.url()), .body(.bytes(text)), fields: [.contentLength: "\(text.count)"])
        let request = try #require(await server.takeRequest())
        #expect(request.fields[.contentLength] == "\(request.bodyLength)")
    }

    @Test("a compressed body can be sent again if the original can")
    func replaying() async throws {
        struct Ask: CurlewMiddleware {
            let report: @Sendable (Bool) -> Void
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                report(request.body.isReplayable)
                _ = try await next(request)
                return try await next(request)
            }
        }
        let server = try await server()
        let (answers, report) = AsyncStream.makeStream(of: Bool.self)
        let api = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare) {
            RequestCompression()
            Ask { report.yield($0) }
        }
        let text = self.text
        _ = try await api.post(.raw(server.url()), .body(.stream { [self] in chunks(text, of: 5000) }))
        for _ in 0..<2 { #expect(try inflated(#require(await server.takeRequest()).body) == text) }
        let error = await curlewError {
            _ = try await api.post(.raw(server.url()), .body(.once(chunks(text, of: 5000))))
        }
        #expect(error?.code == .bodyNotReplayable)
        report.finish()
        #expect(await answers.reduce(into: []) { $0.append($1) } == [true, false])
    }

    @Test("a body that fails, or differs from its announced length, fails the request")
    func faults() async throws {
        struct Reason: Error {}
        let server = try await server()
        let api = try session(RequestCompression())
        let text = self.text
        let bodies: [(CurlewRequest.Body, ErrorCode)] = [
            (.once(length: Int64(text.count) + 1, chunks(text, of: 5000)), .bodyLengthMismatch),
            (.once(length: Int64(text.count) - 1, chunks(text, of: 5000)), .bodyLengthMismatch),
            (.file("/nowhere/at/all"), .bodyFailed), (.file("/tmp"), .bodyFailed),
            (.file("/etc/hostname", length: 1 << 40), .bodyLengthMismatch),
            (.stream { AsyncThrowingStream<[UInt8], any Error> { $0.finish(throwing: Reason()) } }, .bodyFailed),
            (.stream { () throws -> AsyncStream<[UInt8]> in throw Reason() }, .bodyFailed),
        ]
        for (body, code) in bodies {
            let error = await curlewError { _ = try await api.post(.raw(server.url()), .body(body)) }
            #expect(error?.code == code)
        }
        try await api.expectUsable()
    }

    /// A source that counts the requested chunks.
    private actor Noise: AsyncSequence, AsyncIteratorProtocol {
        private(set) var count = 0
        private var generator = SystemRandomNumberGenerator()
        let size: Int

        init(size: Int) { self.size = size }

        func next() async throws -> [UInt8]? {
            count += 1
            return (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }

        nonisolated func makeAsyncIterator() -> Noise { self }
    }

    @Test(
        "the original body is read as slowly as the compressed one, whose chunks are small",
        arguments: [1000, 1 << 20])
    func bounded(_ size: Int) async throws {
        let noise = Noise(size: size)
        let compressed = CompressedChunks(body: .stream { noise }, format: .gzip, level: 1)
        var iterator = compressed.makeAsyncIterator()
        var taken = 0
        while taken < 3 << 20 {
            let piece = try #require(await iterator.next())
            #expect(piece.count <= CompressedChunks.partSize)
            taken += piece.count
            // The difference is zlib's buffer and the current chunk.
            #expect(await noise.count * size <= taken + size + (512 << 10))
        }
    }

    @Test("bytes can be compressed without a request")
    func packing() throws {
        for format in [RequestCompression.Format.gzip, .deflate] {
            for bytes in [[], [1], text] { #expect(try inflated(format.compress(bytes, level: 99)) == bytes) }
        }
    }
}
