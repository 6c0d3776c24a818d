import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("Cookies are not kept yet, and never missing in silence", .timeLimit(.minutes(1)))
struct CookieTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            let fields: HTTPFields = request.path == "/plain" ? [:] : [.setCookie: "a=b"]
            return MockResponse(fields: fields, body: .string(request.fields[.cookie] ?? "none"))
        }
    }

    @Test("the response that sets a cookie is an answer; what would carry it is skipped, unless it is not to")
    func later() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url("/plain")).bodyText == "none")
        #expect(try await probe.fetch(server.url(), #""cookies":true"#).bodyText == "none")
        for members in ["", #""cookies":true"#, #""cookies":null"#] {
            #expect(try await probe.fetch(server.url("/plain"), members).skip == "cookies true")
        }
        #expect(try await probe.fetch(server.url(), #""cookies":false"#).bodyText == "none")
        #expect(server.requestCount == 3)
        await server.shutdown()
    }

    @Test("what is not to be stored is not, and other sessions and hosts have nothing of it")
    func others() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        for _ in 0..<2 { #expect(try await probe.fetch(server.url(), #""cookies":false"#).bodyText == "none") }
        #expect(try await probe.fetch(server.url()).bodyText == "none")
        #expect(try await probe.fetch(server.url(), #""session":"b""#).bodyText == "none")
        #expect(try await probe.fetch("http://localhost:\(server.port)/").bodyText == "none")
        #expect(try await probe.fetch("http://LOCALHOST:\(server.port)/").skip == "cookies true")
        await server.shutdown()
    }

    @Test("a response that is skipped itself has set its cookie")
    func redirect() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(status: .found, fields: [.location: "/", .setCookie: "a=b"])
        }
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url()).skip == "redirect follow")
        #expect(try await probe.fetch(server.url()).skip == "cookies true")
        await server.shutdown()
    }

    @Test(
        "a cookie of a domain is one of the hosts below it",
        arguments: [
            ("a=b", ["a.example.test"]), ("a=b; Path=/; DOMAIN = .Example.test", ["a.example.test", "b.example.test"]),
            ("domain=example.test", ["a.example.test"]), ("a=b; domain", ["a.example.test"]),
        ])
    func domains(_ cookie: String, _ hosts: [String]) throws {
        var cookies = SessionCookies()
        let response = Response(.ok, fields: [.setCookie: cookie], uri: try URI("http://A.example.test/"))
        cookies.note(response, session: "s")
        let asked = ["a.example.test", "b.example.test", "ample.test", "nexample.test", "c.test"]
        #expect(asked.filter { cookies.mayApply(to: $0, session: "s") } == hosts)
        #expect(!cookies.mayApply(to: "a.example.test", session: nil))
    }
}
