import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("The recorded sizes of chunks", .noLeaks, .timeLimit(.minutes(1)))
struct ChunkSizeTests {
    @Test("chunks keep their sizes in the record, however the network splits them", arguments: [1, 2, 3, 7, 1000])
    func http11(step: Int) async throws {
        let server = try await MockServer.start()
        let client = try await WireClient.connect(port: server.port)
        let first = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
        let second = "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
        let chunks = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n1\r\nz\r\n0\r\nX-Sum: 9\r\n\r\n"
        let bytes = Array((first + second + chunks).utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            try await client.send(Array(bytes[start..<min(start + step, bytes.count)]))
        }
        let counted = try #require(await server.takeRequest())
        #expect(counted.text == "body" && counted.chunkSizes == [] && counted.chunkCount == 0)
        let chunked = try #require(await server.takeRequest())
        #expect(chunked.text == "abc0123456789z")
        #expect(chunked.chunkSizes == [3, 10, 1])
        #expect(chunked.chunkCount == 3)
        #expect(chunked.trailers[HTTPField.Name("X-Sum")!] == "9")
    }

    @Test("DATA frames keep their sizes in the record, however the network splits them", arguments: [1, 5, 1000])
    func http2(step: Int) async throws {
        let server = try await MockServer.start()
        let client = try await WireClient.connect(port: server.port)
        let fields = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "x")]
        let frames: [HTTP2WireFrame] = [
            .settings(), .headers(stream: 1, fields: fields), .headers(stream: 5, fields: fields),
            .data(stream: 1, Array("abc".utf8)),
            .data(stream: 5, Array("0123456789".utf8), endStream: true),
            HTTP2WireFrame(kind: .data, flags: .padded, stream: 1, payload: [2] + Array("defg".utf8) + [0, 0]),
            .data(stream: 1, [], endStream: true),
        ]
        let bytes = RawConnection.http2Preface + frames.flatMap(\.bytes)
        for start in stride(from: 0, to: bytes.count, by: step) {
            try await client.send(Array(bytes[start..<min(start + step, bytes.count)]))
        }
        var sizes: [Int: [Int]] = [:]
        for _ in 0..<2 {
            let request = try #require(await server.takeRequest())
            sizes[request.exchangeIndex] = request.chunkSizes
        }
        #expect(sizes == [0: [3, 4], 1: [10]])
    }
}
