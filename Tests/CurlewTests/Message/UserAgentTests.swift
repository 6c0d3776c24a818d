import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("User-Agent", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct UserAgentTests {
    @Test(
        "a program's name becomes an ASCII product token",
        arguments: [
            ("importer", "importer "), ("vogel zähler", "vogel-zahler "), ("\u{441}\u{43b}\u{43e}\u{43d}", ""),
            ("", ""), ("a\r\nb/c(d)", "abcd "),
        ])
    func program(_ program: String, _ expected: String) {
        #expect(UserAgent(program: program).text == expected + "Curlew/\(UserAgent.curlewVersion)")
    }

    @Test("a program's version follows its name")
    func version() {
        let agent = SessionConfiguration.userAgent(program: "a", version: "1.4 (x)")
        #expect(agent == "a/1.4-x Curlew/\(UserAgent.curlewVersion)")
        #expect(SessionConfiguration.userAgent(version: "2").contains("/2 Curlew/"))
    }

    @Test("every request of a session has one User-Agent, unless it has set the field itself")
    func everyRequest() async throws {
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse(fields: [.contentType: "application/json"], body: "[]")
        }
        let api = try makeSession(baseURL: server.url()) { $0.userAgent = UserAgent.ofProcess.text }
        _ = try await api.get("a")
        _ = try await api.get("b", parameters: ["k": 1])
        _ = try await api.post("c", .json([1]), as: [Int].self)
        _ = try await api.post("d", .form(["k": 1]), as: .nothing)
        _ = try await api.session?.exchange(CurlewRequest(.get, server.url("/e"))).run()
        for _ in 0..<5 {
            #expect(await server.takeRequest()?.fields[values: .userAgent] == [UserAgent.ofProcess.text])
        }
        _ = try await api.get("f", fields: [.userAgent: "own"])
        #expect(await server.takeRequest()?.fields[values: .userAgent] == ["own"])
    }

    @Test("a session may send no User-Agent, and an invalid one is never sent")
    func others() async throws {
        let server = try await MockServer.start()
        _ = try await makeSession().get(.raw(server.url()))
        #expect(await server.takeRequest()?.fields.contains(.userAgent) == false)
        #expect(await curlewError { _ = try makeSession { $0.userAgent = "a\r\nb" } }?.code == .invalidRequest)
        #expect(SessionConfiguration().userAgent == UserAgent.ofProcess.text)
    }
}
