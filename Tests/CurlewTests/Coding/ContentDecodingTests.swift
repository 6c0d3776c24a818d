import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Decoding of response bodies", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct ContentDecodingTests {
    private func session(
        _ limits: ContentDecoding.Limits = ContentDecoding.Limits(),
        _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        adjust(&configuration)
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            ContentDecoding(limits: limits)
        }
    }

    private func server(_ responses: [String: MockResponse]) async throws -> MockServer {
        try await MockServer.start { request in responses[request.path] ?? .notFound }
    }

    private func coded(_ body: [UInt8], _ name: String) -> MockResponse {
        MockResponse(fields: [.contentEncoding: name], body: .bytes(body))
    }

    @Test(
        "bodies in every coding are decoded, with and without a length, over HTTP/1.1 and HTTP/2",
        arguments: ["1.1", "2"])
    func codings(_ version: String) async throws {
        let api = try session { $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11 }
        for coding in CodedBodies.codings {
            for framing in [MockResponse.Framing.automatic, .chunked] {
                var response = try MockResponse(body: .bytes(CodedBodies.text)).encoded(coding)
                response.framing = framing
                let coded = response
                let server = try await MockServer.start { _ in coded }
                let answer = try await api.get(.raw(server.url()))
                #expect(answer.version == (version == "2" ? .http2 : .http11))
                #expect(answer.fields[.contentEncoding] == nil && answer.fields[.contentLength] == nil)
                #expect(answer.body.length == nil && answer.contentLength == nil)
                #expect(answer.contentCodings == [coding.name])
                #expect(answer.encodedFields[.contentEncoding] == coding.name)
                #expect((answer.encodedFields[.contentLength] != nil) == (framing == .automatic))
                #expect(try await answer.body.collect(upTo: .mebibytes(1)) == CodedBodies.text)
                await server.shutdown()
            }
        }
    }

    @Test("coding names are read in any letter case, in lists and in several fields; x-gzip means gzip")
    func names() async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.short)
        let both = try ContentCoding.brotli.encode(gzip)
        var fields = coded(both, "GZIP")
        fields.fields.append(HTTPField(name: .contentEncoding, value: " identity , ,\tBr"))
        let cases: [(MockResponse, [String])] = [
            (coded(gzip, "x-gzip"), ["x-gzip"]), (coded(gzip, "X-GZip"), ["x-gzip"]),
            (coded(both, "gzip,br"), ["gzip", "br"]), (fields, ["gzip", "br"]),
            (coded(gzip, "identity, gzip, identity"), ["gzip"]), (coded(CodedBodies.short, "identity"), []),
            (coded(CodedBodies.short, ""), []), (coded(CodedBodies.short, " , "), []),
        ]
        let server = try await MockServer.start()
        let api = try session()
        for (response, codings) in cases {
            server.enqueue(response)
            let answer = try await api.get(.raw(server.url()))
            #expect(answer.contentCodings == codings)
            #expect(try await answer.body.collect(upTo: 1000) == CodedBodies.short)
        }
    }

    @Test("the supported codings are announced, unless the caller sets Accept-Encoding, a range or raw mode")
    func announcement() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let api = try session()
        var raw = RequestOptions()
        raw.decodesContent = false
        let cases: [(HTTPFields, RequestOptions, [String])] = [
            ([:], RequestOptions(), ["gzip, deflate, br, zstd"]), ([.acceptEncoding: "br"], RequestOptions(), ["br"]),
            ([.acceptEncoding: ""], RequestOptions(), [""]), ([.range: "bytes=0-9"], RequestOptions(), []),
            ([:], raw, []), ([.acceptEncoding: "gzip"], raw, ["gzip"]),
        ]
        for (fields, options, expected) in cases {
            _ = try await api.get(.raw(server.url()), fields: fields, options: options)
            #expect(try #require(await server.takeRequest()).fields[values: .acceptEncoding] == expected)
        }
    }

    @Test("a body with an unknown coding, or with decoding off, is passed on with its fields")
    func raw() async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.short)
        let server = try await MockServer.start()
        let api = try session()
        var raw = RequestOptions()
        raw.decodesContent = false
        let cases: [(String, RequestOptions)] = [
            ("gzip", raw), ("compress", RequestOptions()), ("gzip, foo", RequestOptions()),
            ("foo, gzip", RequestOptions()), ("gzip;q=1", RequestOptions()), ("gzip br", RequestOptions()),
        ]
        for (name, options) in cases {
            server.enqueue(coded(gzip, name))
            let answer = try await api.get(.raw(server.url()), options: options)
            #expect(answer.fields[.contentEncoding] == name && answer.contentLength == Int64(gzip.count))
            #expect(answer.contentCodings.isEmpty && answer.encodedFields.isEmpty)
            #expect(try await answer.body.collect(upTo: 1000) == gzip)
        }
    }

    @Test("a response without a full body (HEAD, 204, 206, 304, empty) is passed on without decoding")
    func bodiless() async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.short)
        let api = try session()
        let server = try await MockServer.start { request in
            var response = MockResponse(fields: [.contentEncoding: "gzip"], body: .bytes(gzip))
            switch request.path {
            case "/204": response = MockResponse(status: .noContent, fields: [.contentEncoding: "gzip"])
            case "/304": response.status = .notModified
            case "/206":
                response.status = .partialContent
                response.fields[.contentRange] = "bytes 0-\(gzip.count - 1)/1000"
            case "/empty": response.body = .bytes([])
            case "/empty-chunked":
                response.body = .bytes([])
                response.framing = .chunked
            default: break
            }
            return response
        }
        for path in ["/204", "/304", "/empty"] {
            let answer = try await api.get(.raw(server.url(path)))
            #expect(answer.fields[.contentEncoding] == "gzip" && answer.contentCodings.isEmpty)
            #expect(try await answer.body.collect(upTo: 1000) == [])
        }
        let head = try await api.send(.head, .raw(server.url()))
        #expect(head.fields[.contentEncoding] == "gzip" && head.contentLength == Int64(gzip.count))
        let part = try await api.get(.raw(server.url("/206")), fields: [.range: "bytes=0-"])
        #expect(part.fields[.contentEncoding] == "gzip")
        #expect(try await part.body.collect(upTo: 1000) == gzip)
        #expect(try await api.get(.raw(server.url("/empty-chunked"))).body.collect(upTo: 0) == [])
    }

    @Test(
        "a truncated body is an error after the bytes that could be decoded",
        arguments: ["1.1", "2"])
    func cutShort(_ version: String) async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.short)
        let server = try await MockServer.start { request in
            let count = Int(request.path.dropFirst()) ?? 0
            return MockResponse(fields: [.contentEncoding: "gzip"], body: .bytes(Array(gzip.prefix(count))))
        }
        let api = try session { $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11 }
        for count in 1..<gzip.count {
            let answer = try await api.get(.raw(server.url("/\(count)")))
            var read: [UInt8] = []
            let error = await curlewError { for try await chunk in answer.body { read += chunk } }
            #expect(error?.code == .responseTruncated)
            #expect(error?.stage == .receiving && error?.response?.headerFields[.contentEncoding] == "gzip")
            #expect(error?.uri?.path == "/\(count)" && error?.method == .get)
            #expect(CodedBodies.short.starts(with: read))
            #expect(count < gzip.count - 8 || read == CodedBodies.short)
        }
        #expect(try await api.fetch(server.url("/\(gzip.count)")) == CodedBodies.short)
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a failed transfer keeps its own error, and so does a broken body after a good one")
    func brokenTransfer() async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.text)
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n")
        let api = try session()
        let answer = try await api.get(.raw(server.url()))
        #expect(await curlewError { _ = try await answer.body.collect(upTo: 1000) }?.code == .responseTruncated)
        let other = try await self.server([
            "/good": coded(gzip, "gzip"), "/trailing": coded(gzip + [1], "gzip"),
            "/corrupt": coded(Array(gzip.dropLast(8)) + Array(repeating: 7, count: 8), "gzip"),
            "/plain": coded(CodedBodies.text, "br"), "/cut": coded(Array(gzip.dropLast()), "gzip"),
        ])
        for (path, code) in [
            ("/trailing", ErrorCode.contentDecodingFailed), ("/corrupt", .contentDecodingFailed),
            ("/plain", .contentDecodingFailed), ("/cut", .responseTruncated),
        ] {
            let error = await curlewError { _ = try await api.fetch(other.url(path)) }
            #expect(error?.code == code)
            #expect(try await api.fetch(other.url("/good")) == CodedBodies.text)
        }
    }

    @Test("at most five codings per body are decoded, and a response with more is an error")
    func nested() async throws {
        var body = CodedBodies.short
        var responses: [String: MockResponse] = [:]
        for count in 1...10 {
            body = try ContentCoding.gzip.encode(body)
            responses["/\(count)"] = coded(body, Array(repeating: "gzip", count: count).joined(separator: ", "))
        }
        let server = try await server(responses)
        let api = try session()
        for count in 1...5 {
            #expect(try await api.fetch(server.url("/\(count)")) == CodedBodies.short)
        }
        for count in 6...10 {
            let error = await curlewError { _ = try await api.get(.raw(server.url("/\(count)"))) }
            #expect(error?.code == .contentDecodingFailed && error?.response?.status == .ok)
        }
        let tolerant = try session(ContentDecoding.Limits(codings: 10))
        #expect(try await tolerant.fetch(server.url("/10")) == CodedBodies.short)
        try await api.expectUsable()
    }

    @Test(
        "a decompression bomb ends with an error, by ratio and by size, and its connection is closed",
        arguments: ["1.1", "2"])
    func bombs(_ version: String) async throws {
        let zeros = Array(repeating: UInt8(0), count: 32 << 20)
        let small = try coded(ContentCoding.brotli.encode(CodedBodies.text), "br")
        var responses: [String: MockResponse] = [:]
        for coding in [ContentCoding.gzip, .brotli, .zstandard] {
            let once = try coding.encode(zeros)
            responses["/\(coding.name)"] = coded(once, coding.name)
            responses["/\(coding.name)2"] = coded(try coding.encode(once), "\(coding.name), \(coding.name)")
        }
        let server = try await server(responses.merging(["/small": small]) { $1 })
        let adjust: (inout SessionConfiguration) -> Void = {
            $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11
        }
        let api = try session(ContentDecoding.Limits(ratioFreeSize: .mebibytes(1)), adjust)
        let bounded = try session(ContentDecoding.Limits(ratio: nil, size: .mebibytes(2)), adjust)
        for path in responses.keys {
            for (session, bound) in [(api, 4 << 20), (bounded, 2 << 20)] {
                var count = 0
                let answer = try await session.get(.raw(server.url(path)))
                let error = await curlewError { for try await chunk in answer.body { count += chunk.count } }
                #expect(error?.code == .responseTooLarge)
                #expect(count <= bound)
            }
        }
        let all = try session(ContentDecoding.Limits(ratio: nil), adjust)
        #expect(try await all.fetch(server.url("/gzip")).count == zeros.count)
        #expect(try await api.fetch(server.url("/small")) == CodedBodies.text)
    }

    @Test("a reader that stops early ends the transfer, and the decoder is freed", arguments: ["1.1", "2"])
    func stopping(_ version: String) async throws {
        let server = try await MockServer.start { request in
            if request.path == "/small" { return MockResponse(body: "ok") }
            return MockResponse(
                fields: [.contentEncoding: "gzip"],
                body: .stream { writer in
                    // The server sends endless gzip members.
                    let member = try ContentCoding.gzip.encode(CodedBodies.noise(10_000))
                    while true { try await writer.write(member) }
                })
        }
        let api = try session { $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11 }
        weak var decoding: BodyDecoding?
        do {
            let answer = try await api.get(.raw(server.url()))
            guard case .stream(let stream) = answer.body.storage, let chunks = stream as? DecodedChunks else {
                Issue.record("the body is not decoded")
                return
            }
            var iterator = chunks.makeAsyncIterator()
            decoding = iterator.decoding
            for _ in 0..<20 { #expect(try await iterator.next()?.isEmpty == false) }
            #expect(decoding != nil)
        }
        #expect(decoding == nil)
        try await eventually("the task has ended") { await api.session?.tasks().isEmpty != false }
        // The task is cancelled while it waits for a chunk.
        let reading = Task {
            let answer = try await api.get(.raw(server.url()))
            for try await _ in answer.body where Task.isCancelled { break }
            try Task.checkCancellation()
        }
        try await server.waitForConnections { $0.accepted >= 1 }
        reading.cancel()
        await #expect(throws: (any Error).self) { try await reading.value }
        #expect(try await api.fetch(server.url("/small")) == Array("ok".utf8))
    }

    @Test("trailers are passed on, and serializers and verbs receive the decoded body")
    func surroundings() async throws {
        let name = try #require(HTTPField.Name("X-After"))
        var response = try MockResponse(fields: [.contentType: "application/json"], body: "{\"a\": [1, 2]}")
            .encoded(.zstandard)
        response.trailers = [name: "yes"]
        let coded = response
        let server = try await MockServer.start { _ in coded }
        let api = try session()
        let answer = try await api.get(.raw(server.url()))
        _ = try await answer.body.collect(upTo: 1000)
        #expect(answer.body.trailers == [name: "yes"])
        #expect(try await api.get(.raw(server.url()), as: [String: [Int]].self) == ["a": [1, 2]])
    }

    @Test("a decoding error ends the transfer even if the response is still referenced", arguments: ["1.1", "2"])
    func failing(_ version: String) async throws {
        let server = try await MockServer.start { request in
            if request.path == "/small" { return MockResponse(body: "ok") }
            return MockResponse(
                fields: [.contentEncoding: "gzip"],
                body: .stream { writer in while true { try await writer.write(CodedBodies.short) } })
        }
        let api = try session { $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11 }
        let answer = try await api.get(.raw(server.url()))
        let error = await curlewError { for try await _ in answer.body {} }
        #expect(error?.code == .contentDecodingFailed)
        try await eventually("the task has ended") { await api.session?.tasks().isEmpty != false }
        #expect(answer.status == .ok)
        #expect(try await api.fetch(server.url("/small")) == Array("ok".utf8))
    }

    /// A source that counts the requested chunks.
    private actor Source: AsyncSequence, AsyncIteratorProtocol {
        private(set) var count = 0
        let chunk: [UInt8]

        init(chunk: [UInt8]) { self.chunk = chunk }

        func next() async throws -> [UInt8]? {
            count += 1
            return chunk
        }

        nonisolated func makeAsyncIterator() -> Source { self }
    }

    @Test(
        "a decoder reads only as much of a body as its reader needs, and returns small chunks",
        arguments: CodedBodies.codings)
    func backPressure(_ coding: ContentCoding) async throws {
        // A single chunk decodes to many pieces, and the next chunk is requested only after all of them were read.
        let source = Source(chunk: try coding.encode(Array(repeating: 0, count: 1 << 20)))
        let body = CurlewResponse.Body.stream(
            DecodedChunks(
                body: .stream(source), codings: [coding.kind], limits: .unbounded, context: CurlewError.Context()))
        #expect(await source.count == 0)
        var iterator = body.makeAsyncIterator()
        var count = 0
        while count < 1 << 20 {
            let piece = try #require(await iterator.next())
            #expect(piece.count <= 64 << 10)
            count += piece.count
            #expect(await source.count == 1)
        }
    }

    @Test("a body can be decoded on the session's event loop")
    func onTheLoop() async throws {
        let gzip = try ContentCoding.gzip.encode(CodedBodies.text)
        let server = try await server(["/": coded(gzip, "gzip")])
        let api = try session()
        let loop = try #require(api.session).eventLoop
        let body = try await withTaskExecutorPreference(loop) { try await api.fetch(server.url()) }
        #expect(body == CodedBodies.text)
    }
}
