import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

/// Cases whose server sends a response in bytes and closes the connection.
@Suite("Conformance: heads and lengths of responses", .endsServers, .timeLimit(.minutes(1)))
struct ResponseHeadTests {
    @Test("testNotHTTP: a response that is not HTTP is an error")
    func testNotHTTP() async throws {
        try await withClient(receiving: "FOOBAR") { http in
            #expect(await errorCode { _ = try await http.get("not_http") } == .invalidResponse)
        }
    }

    @Test("testBadHTTPCase: a status line with the name Http is an error")
    func testBadHTTPCase() async throws {
        try await withClient(receiving: "Http/1.1 200 OK\r\nConnection: close\r\n\r\n") { http in
            #expect(await errorCode { _ = try await http.get("http_case") } == .invalidResponse)
        }
    }

    @Test("testNoReason: a status line needs no reason")
    func testNoReason() async throws {
        try await withClient(receiving: "HTTP/1.1 200\r\nConnection: close\r\n\r\n") { http in
            let response = try await http.get("no_reason")
            #expect(response.status == .ok)
        }
    }

    @Test("test204WithContentLength: a 204 has no body, also with Content-Length")
    func test204WithContentLength() async throws {
        let answer = "HTTP/1.1 204 No Content\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n"
        try await withClient(receiving: answer) { http in
            let response = try await http.get("204_with_cl")
            #expect(response.status == .noContent)
            #expect(try await response.bodyText().isEmpty)
        }
    }

    @Test("test304WithContentLength: a 304 has no body, also with Content-Length")
    func test304WithContentLength() async throws {
        let answer = "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n"
        try await withClient(receiving: answer) { http in
            let response = try await http.get("304_with_cl")
            #expect(response.status == .notModified)
            #expect(try await response.bodyText().isEmpty)
        }
    }

    @Test("testIncompleteBody: a body shorter than its Content-Length is an error")
    func testIncompleteBody() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n1234"
        try await withClient(receiving: answer) { http in
            let code = await errorCode {
                let response = try await http.get("incomplete_body")
                #expect(response.status == .ok)
                _ = try await response.bodyText()
            }
            #expect(code == .responseTruncated)
        }
    }

    @Test("testNoLengthHint: a body without a length ends with its connection")
    func testNoLengthHint() async throws {
        try await withClient(receiving: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1234") { http in
            let response = try await http.get("no_length_hint")
            #expect(response.status == .ok)
            #expect(try await response.bodyText() == "1234")
        }
    }

    @Test("testConflictingContentLength: two different lengths are an error")
    func testConflictingContentLength() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\nConnection: close\r\n\r\n1234"
        try await withClient(receiving: answer) { http in
            #expect(await errorCode { _ = try await http.get("conflicting_cl").bodyText() } == .invalidResponse)
        }
    }
}
