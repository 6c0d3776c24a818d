import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing
import ThreadWork

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The target of a Location", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RedirectLocationTests {
    /// The target URI of a redirect from `start`.
    private func target(of location: String, from start: String) async throws -> String {
        let stub = StubTransport()
        stub.enqueue(.response(.found, fields: [.location: location]), .response(.ok))
        let session = try HTTPSession(transport: stub, chain: .bare) { Redirects() }
        return try await session.get(.raw(start)).uri.description
    }

    @Test(
        "a relative Location is resolved, and inherits the fragment",
        arguments: [
            ("http://a.test/x/y?q", "z", "http://a.test/x/z"),
            ("http://a.test/x/y?q", "/z", "http://a.test/z"),
            ("http://a.test/x/y?q", "?r", "http://a.test/x/y?r"),
            ("http://a.test/x/y?q", "../z", "http://a.test/z"),
            ("http://a.test/x/y", "//b.test/z", "http://b.test/z"),
            ("http://a.test/x/y", "https://b.test", "https://b.test/"),
            ("http://a.test/x/y", "HTTPS://B.test/z", "https://B.test/z"),
            ("http://a.test/x#top", "/z", "http://a.test/z#top"),
            ("http://a.test/x#top", "/z#here", "http://a.test/z#here"),
            ("http://a.test/x#top", "/z#", "http://a.test/z#"),
            ("http://a.test/x#top", "http://b.test/z?q", "http://b.test/z?q#top"),
            ("http://a.test/x", "/with space", "http://a.test/with%20space"),
            ("http://a.test/x", "/ü?ö", "http://a.test/%C3%BC?%C3%B6"),
            ("http://a.test/x", "/%zz", "http://a.test/%zz"),
        ])
    func references(_ start: String, _ location: String, _ expected: String) async throws {
        #expect(try await target(of: location, from: start) == expected)
    }

    @Test(
        "an invalid Location is an error, and no request is sent",
        arguments: [
            "file:///etc/passwd", "ftp://a.test/", "javascript:alert(1)", "data:text/plain,x",
            "gopher://127.0.0.1:6379/_x",
            "http:", "http:///", "http://", "//", "http://a.test:99999/", "http://a.test:x/", "http://[::1/",
            "http://a b.test/", "http://user:secret@other.test/", "https://user@a.test/", "mailto:curlew@a.test",
        ])
    func unusable(_ location: String) async throws {
        let server = try await MockServer.start { _ in redirect(302, to: location) }
        let session = try makeSession { Redirects() }
        let error = await curlewError { _ = try await session.get(.raw(server.url("/start"))) }
        #expect(error?.code == .invalidRedirect)
        #expect(error?.uri?.path == "/start")
        #expect(error?.response?.status == .found)
        #expect("\(error as Any)".contains("secret") == false)
        #expect(server.requestCount == 1)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test(
        "the error for an invalid Location contains neither query nor fragment",
        arguments: [
            "https:/cb?code=SECRET-CODE&state=1", "https:/cb#access_token=SECRET-CODE",
            "ftp://a.test/?code=SECRET-CODE",
            "https:/cb?user=curlew@a.test&code=SECRET-CODE", "https:/cb?mail=curlew@SECRET-CODE",
            "https:/curlew:SECRET-CODE?x@a.test/", "mailto:curlew?subject=SECRET-CODE",
        ])
    func secretLocation(_ location: String) async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.found, fields: [.location: location]))
        let session = try HTTPSession(transport: stub, chain: .bare) { Redirects() }
        let error = await curlewError { _ = try await session.get("http://a.test/") }
        #expect(error?.code == .invalidRedirect)
        #expect("\(error as Any)".contains("SECRET") == false, "\(error as Any)")
    }

    @Test("Location fields are compared by bytes, in linear time")
    func longComparison() throws {
        let marks = (0..<200_000).map { $0 % 2 == 0 ? "\u{301}" : "\u{323}" }.joined()
        let fields = HTTPFields([
            HTTPField(name: .location, value: "/a\(marks)"), HTTPField(name: .location, value: "/a\(marks)b"),
        ])
        let base = try CurlewURI("http://a.test/")
        let time = processorTime {
            #expect(throws: CurlewError.self) { try RedirectTarget.read(fields, relativeTo: base) }
        }
        #expect(time < .seconds(5))
        let composed = HTTPFields(["\u{E9}", "e\u{301}"].map { HTTPField(name: .location, value: $0) })
        #expect(throws: CurlewError.self) { try RedirectTarget.read(composed, relativeTo: base) }
    }

    @Test("an empty Location is the same URI, up to the limit of redirects")
    func empty() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 302 Found\r\nLocation:\r\nContent-Length: 0\r\n\r\n")
        }
        let session = try makeSession { Redirects() }
        #expect(await curlewError { _ = try await session.get(.raw(server.url("/a"))) }?.code == .tooManyRedirects)
    }

    @Test("a Location of 10,000 bytes is an error, one of 8,192 is not", arguments: [10_000, 8193, 8192])
    func long(_ length: Int) async throws {
        let location = "/" + String(repeating: "x", count: length - 1)
        let server = try await MockServer.start { $0.path == "/" ? redirect(302, to: location) : MockResponse() }
        let session = try makeSession { Redirects() }
        if length > Redirects.locationLimit.bytes {
            let error = await curlewError { _ = try await session.get(.raw(server.url())) }
            #expect(error?.code == .invalidRedirect)
            #expect(error?.message.utf8.count ?? 0 < 200)
        } else {
            #expect(try await session.get(.raw(server.url())).uri.path == location)
        }
    }

    @Test("several Locations must be equal", arguments: ["/b", "/c"])
    func several(_ other: String) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/a" else { return MockResponse() }
            var response = redirect(302, to: "/b")
            response.fields.append(HTTPField(name: .location, value: other))
            return response
        }
        let session = try makeSession { Redirects() }
        if other == "/b" {
            #expect(try await session.get(.raw(server.url("/a"))).uri.path == "/b")
        } else {
            // libcurl from 8.17 on refuses such a response itself.
            let code: ErrorCode = Engine.versionNumber < 0x081100 ? .invalidRedirect : .invalidResponse
            #expect(await curlewError { _ = try await session.get(.raw(server.url("/a"))) }?.code == code)
        }
    }

    @Test("a Location that is not UTF-8 is sent byte by byte")
    func bytes() async throws {
        let (heads, report) = AsyncStream.makeStream(of: String.self)
        let server = try await RawServer.start { connection in
            report.yield(try await connection.readHead())
            let location = Array("Location: /gr".utf8) + [0xFC, 0xDF] + Array("e\r\n".utf8)
            try await connection.write(
                Array("HTTP/1.1 302 Found\r\n".utf8) + location + Array("Content-Length: 0\r\n\r\n".utf8))
            report.yield(try await connection.readHead())
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            report.finish()
        }
        let session = try makeSession { Redirects() }
        #expect(try await session.get(.raw(server.url("/"))).status == .ok)
        var targets: [Substring] = []
        for await head in heads { targets.append(head.split(separator: " ")[1]) }
        #expect(targets == ["/", "/gr%FC%DFe"])
    }

    @Test("a Location with a control character is refused")
    func control() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 302 Found\r\nLocation: /a\tb\r\nContent-Length: 0\r\n\r\n")
        }
        let session = try makeSession { Redirects() }
        #expect(await curlewError { _ = try await session.get(.raw(server.url("/"))) }?.code == .invalidRedirect)
    }
}
