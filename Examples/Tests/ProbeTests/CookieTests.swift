import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("The cookies of a session", .timeLimit(.minutes(1)))
struct CookieTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            let fields: HTTPFields = request.path == "/plain" ? [:] : [.setCookie: "a=b; Max-Age=1000; HttpOnly"]
            return MockResponse(fields: fields, body: .string(request.fields[.cookie] ?? "none"))
        }
    }

    @Test("cookies are stored for the session of their name, and can be listed and cleared")
    func kept() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        for text in ["none", "a=b"] { #expect(try await probe.fetch(server.url()).bodyText == text) }
        #expect(try await probe.fetch(server.url("/plain"), #""session":"b""#).bodyText == "none")
        guard case .array(let cookies) = try await probe.ask(#"{"id":1,"op":"cookies"}"#)["cookies"] else {
            return #expect(Bool(false), "no list")
        }
        let cookie = try #require(cookies.first)
        #expect(cookies.count == 1)
        #expect(cookie.string("name") == "a" && cookie.string("value") == "b")
        #expect(cookie.string("domain") == "127.0.0.1" && cookie.string("path") == "/")
        #expect(cookie["http_only"] == .bool(true) && cookie["secure"] == .bool(false))
        #expect(try #require(cookie.number("expires")) > 1_700_000_000)
        let other = try await probe.ask(#"{"id":1,"op":"cookies","session":"b"}"#)
        #expect(other["cookies"] == .array([]))
        #expect(try await probe.ask(#"{"id":1,"op":"clear","what":"cookies"}"#).string("cleared") == "cookies")
        #expect(try await probe.fetch(server.url("/plain")).bodyText == "none")
        await server.shutdown()
    }

    @Test("a fetch with cookies off neither sends nor stores a cookie")
    func off() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        for _ in 0..<2 { #expect(try await probe.fetch(server.url(), #""cookies":false"#).bodyText == "none") }
        #expect(try await probe.fetch(server.url()).bodyText == "none")
        #expect(try await probe.fetch(server.url(), #""cookies":false"#).bodyText == "none")
        await server.shutdown()
    }
}
