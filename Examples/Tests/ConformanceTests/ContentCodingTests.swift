import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

/// Cases about content codings. The server encodes only if the client accepts the coding.
@Suite("Conformance: content codings", .endsServers, .timeLimit(.minutes(1)))
struct ContentCodingTests {
    private func expect(_ coding: ContentCoding) async throws {
        let handler: MockServer.Handler = { request in
            let accepted = request.fields[.acceptEncoding]?.split(separator: ", ").map(String.init) ?? []
            let plain = MockResponse(body: "TEST\n")
            return accepted.contains(coding.name) ? try plain.encoded(coding) : plain
        }
        try await withClient(handler: handler) { http, _ in
            let response = try await http.get("coded")
            #expect(response.status == .ok)
            // The client decodes the body, removes Content-Encoding, and keeps the name of the coding.
            #expect(response.contentCodings == [coding.name])
            #expect(try await response.bodyText() == "TEST\n")
        }
    }

    @Test("testGzip: a body in gzip is decoded")
    func testGzip() async throws { try await expect(.gzip) }

    @Test("testDeflate: a body in deflate is decoded")
    func testDeflate() async throws { try await expect(.deflate) }

    @Test("testBrotli: a body in Brotli is decoded")
    func testBrotli() async throws { try await expect(.brotli) }

    @Test("testIdentity: a body without a coding is returned unchanged")
    func testIdentity() async throws {
        try await withClient { http, server in
            server.enqueue(MockResponse(body: "TEST\n"))
            let response = try await http.get("identity")
            #expect(response.status == .ok)
            #expect(response.contentCodings.isEmpty && response.fields[.contentEncoding] == nil)
            #expect(try await response.bodyText() == "TEST\n")
        }
    }
}
