import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Method and body after a redirect", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RedirectMethodTests {
    private func server(_ status: Int) async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return request.path == "/old" ? redirect(status, to: "/new") : MockResponse(body: "here")
        }
    }

    /// Sends a request to a server that redirects it once.
    /// - Returns: The second request.
    private func second(
        _ status: Int, _ request: (String) throws -> CurlewRequest, _ link: Redirects = Redirects()
    ) async throws -> RecordedRequest {
        let server = try await server(status)
        let response = try await makeSession { link }.send(request(server.url("/old")))
        #expect(response.status == .ok)
        #expect(response.history.map(\.status.code) == [status])
        let first = try #require(await server.takeRequest())
        let second = try #require(await server.takeRequest())
        #expect(first.target == "/old" && second.target == "/new")
        #expect(server.requestCount == 2)
        await server.shutdown()
        return second
    }

    @Test(
        "method and body change as in RFC 9110",
        arguments: [
            (301, "POST", "GET", false), (302, "POST", "GET", false), (303, "POST", "GET", false),
            (307, "POST", "POST", true), (308, "POST", "POST", true),
            (301, "PUT", "PUT", true), (302, "PATCH", "PATCH", true), (303, "PUT", "GET", false),
            (303, "DELETE", "GET", false), (307, "PUT", "PUT", true), (308, "REPORT", "REPORT", true),
            (301, "DELETE", "DELETE", true),
        ])
    func methods(_ status: Int, _ method: String, _ expected: String, _ keepsBody: Bool) async throws {
        let second = try await second(status) { url in
            try CurlewRequest(
                HTTPRequest.Method(method)!, url,
                fields: [.contentType: "text/plain", .contentLanguage: "en", .accept: "text/*"],
                body: .string("curlews whistle"))
        }
        #expect(second.method.rawValue == expected)
        #expect(second.text == (keepsBody ? "curlews whistle" : ""))
        #expect(second.fields[.contentType] == (keepsBody ? "text/plain" : nil))
        #expect(second.fields[.contentLanguage] == (keepsBody ? "en" : nil))
        #expect(second.fields[.contentLength] == (keepsBody ? "15" : nil))
        #expect(second.fields[.accept] == "text/*")
    }

    @Test("methods without a body are not changed", arguments: [301, 302, 303, 307, 308], ["GET", "HEAD"])
    func bodiless(_ status: Int, _ method: String) async throws {
        let second = try await second(status) { try CurlewRequest(HTTPRequest.Method(method)!, $0) }
        #expect(second.method.rawValue == method)
    }

    @Test("a 303 keeps the fields of a GET or HEAD, and the body of a GET")
    func seeOtherAfterRetrieval() async throws {
        for method in [HTTPRequest.Method.get, .head] {
            let text = method == .get ? "curlew" : ""
            let second = try await second(303) {
                try CurlewRequest(
                    method, $0, fields: [.contentType: "text/plain", .mark: "a"],
                    body: method == .get ? .string(text) : .none)
            }
            #expect(second.method == method)
            #expect(second.fields[.contentType] == "text/plain" && second.fields[.mark] == "a")
            #expect(second.text == text)
        }
    }

    @Test("a 301 or 302 keeps a POST if the link is configured so; a 303 never does", arguments: [301, 302, 303])
    func keepsPost(_ status: Int) async throws {
        var link = Redirects()
        link.changesPostToGet = false
        let second = try await second(status, { try CurlewRequest(.post, $0, body: .string("x")) }, link)
        #expect(second.method == (status == 303 ? .get : .post))
        #expect(second.text == (status == 303 ? "" : "x"))
    }

    @Test("a streamed body and its trailers are sent again completely")
    func stream() async throws {
        let body = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { chunks in
                for byte in UInt8(0)..<100 { chunks.yield(Array(repeating: byte, count: 1000)) }
                chunks.finish()
            }
        }
        let second = try await second(307) { try CurlewRequest(.put, $0, body: body, trailers: [.mark: "end"]) }
        #expect(second.bodyLength == 100_000)
        #expect(second.body.last == 99)
        #expect(second.trailers[.mark] == "end")
    }

    @Test("a redirect that drops the body also drops trailers, Trailer and Expect")
    func trailers() async throws {
        let second = try await second(303) {
            try CurlewRequest(
                .post, $0, fields: [.expect: "100-continue"], body: .string("x"), trailers: [.mark: "end"])
        }
        #expect(second.trailers.isEmpty)
        #expect(second.fields[.trailer] == nil && second.fields[.transferEncoding] == nil)
        #expect(second.fields[.expect] == nil)
    }

    @Test("a single-use body is not sent again after a 307 or a 308", arguments: [307, 308])
    func oneShotBody(_ status: Int) async throws {
        let server = try await server(status)
        let session = try makeSession { Redirects() }
        let error = await curlewError { _ = try await session.post(.raw(server.url("/old")), .body(oneShot("once"))) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(error?.response?.status.code == status)
        #expect(error?.stage == .receiving)
        #expect(server.requestCount == 1)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("a single-use body does not prevent a redirect that drops the body")
    func oneShotDropped() async throws {
        let second = try await second(303) { try CurlewRequest(.post, $0, body: oneShot("once")) }
        #expect(second.method == .get)
    }
}
