import CurlewTesting
import HTTPTypes
import Testing

@testable import CurlewTool

@Suite("The question for a password", .timeLimit(.minutes(1)))
struct PasswordPromptTests {
    @Test("the password is not shown, and is sent")
    func answered() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string(request.fields[.authorization] ?? "none"))
        }
        let terminal = try TerminalProcess(["-u", "me", server.url()])
        await terminal.waitForOutput("password of me: ")
        terminal.type("secret!\u{7F}\n")
        #expect(await terminal.end() == 0)
        #expect(terminal.output.contains("Basic bWU6c2VjcmV0") && !terminal.output.contains("secret"))
        await server.shutdown()
    }

    @Test("Ctrl-C at the question ends the call, and nothing is sent")
    func interrupted() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let terminal = try TerminalProcess(["-u", "me", server.url()])
        await terminal.waitForOutput("password of me: ")
        terminal.type("secret\u{3}")
        #expect(await terminal.end() == 130)
        #expect(server.requestCount == 0)
        await server.shutdown()
    }

    @Test(
        "a line is edited as on a terminal",
        arguments: [
            ("ab\n", "ab"), ("ab\u{7F}c\r", "ac"), ("aä\u{8}b\n", "ab"), ("ab\u{15}c\n", "c"), ("\u{7F}a\u{4}", "a"),
        ])
    func editing(typed: String, password: String) {
        var line = PasswordLine()
        for byte in typed.utf8 where line.state == .open { line.append(byte) }
        #expect(line.state == .ended && line.text == password)
    }
}
