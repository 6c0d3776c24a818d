import Testing

@testable import TerminalOutput

@Suite("curlew demo", .timeLimit(.minutes(1)))
struct DemoTests {
    @Test("the tour makes five exchanges with its own server, over one connection")
    func tour() async throws {
        let end = await (try ToolProcess(["demo"])).end()
        #expect(end.status == 0, "\(end.complaints)")
        let rows = end.output.split(separator: "\n").filter { $0.contains("HTTP/1.1") }
        #expect(rows.count == 5)
        #expect(rows.allSatisfy { $0.contains(" 200 ") })
        #expect(rows.first?.contains("new") == true)
        #expect(rows.dropFirst().allSatisfy { $0.contains("reused") })
    }

    @Test(
        "the demonstration ends with a typed call, a stream, a download with a bar and a failure that is retried",
        arguments: [40, 80])
    func session(columns: Int) async throws {
        let end = await (try ToolProcess(["demo"], columns: columns)).end()
        #expect(end.status == 0, "\(end.output)")
        let screen = Screen.lines(end.output, width: 200).joined(separator: "\n")
        #expect(screen.contains("a value: curlew with 2 legs") && screen.contains("curlew-urlew, as soon as"))
        #expect(screen.contains("100 % 64.0 MiB"))
        // No line is wrapped by the terminal, except those of a program.
        let isCode = { (line: String) in line.hasPrefix("  let ") || line.hasPrefix("  for ") }
        let lines = Screen.lines(end.output, width: 200).filter { !isCode($0) }
        #expect(lines.allSatisfy { Columns.width(of: $0) < columns }, "\(screen)")
        let words = screen.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("status 200 with a curlew, after 2 attempts: the server failed first, with 503"))
    }
}
