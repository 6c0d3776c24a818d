import Testing

@testable import CurlewTool

@Suite("Completions and the manual page", .timeLimit(.minutes(1)))
struct ManualTests {
    @Test("the manual page has every command and every option of a call")
    func manual() async throws {
        let end = await (try ToolProcess(["manual"])).end()
        #expect(end.status == 0 && end.output.hasPrefix(".TH CURLEW 1"))
        for name in CommandWords.longValued where !name.hasPrefix("data-") {
            #expect(end.output.contains("\\-\\-\(name.replacing("-", with: "\\-"))"), "\(name)")
        }
        for command in ["DOWNLOAD", "QUEUE ADD", "WS", "TRUST"] {
            #expect(end.output.contains(".SH CURLEW \(command)\n"))
        }
    }

    @Test("the completions of a shell name the subcommands and the options", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let end = await (try ToolProcess(["--generate-completion-script", shell])).end()
        #expect(end.status == 0 && end.output.contains("download") && end.output.contains("user-agent"))
    }
}
