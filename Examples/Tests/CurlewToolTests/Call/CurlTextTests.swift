import CurlewTesting
import Foundation
import Testing

@Suite("The curl command of a call", .timeLimit(.minutes(3)))
struct CurlTextTests {
    @Test(
        "the command sends the request of the call",
        arguments: [
            ["name=it's", "text=line one\nline two", "on:=true"], ["X-One:it's $HOME `id`", "q==a'b c"],
            ["-d", "a=it's\nb"], ["-d", "@FOLDER/lines.txt"], ["--data-binary", "@FOLDER/lines.txt"],
            ["--json", #"{"a":"it's"}"#], ["-G", "-d", "a=it's"], ["-X", "PUT", "-d", "a=b"], ["-u", "ada:it's"],
            ["-F", "a=it's\nline two"], ["-F", "a=\"x;y\";type=text/x"], ["-F", "a=\"@b\""],
            ["-F", "a=\u{1B}[31m\u{202E}"], ["-X", "PUT", "-F", "a=b"],
            ["-F", "file=@FOLDER/it's; \"a\",\nb.txt;type=text/plain", "-F", "text=<FOLDER/lines.txt"],
            ["file@FOLDER/lines.txt;type=text/plain", "name=two words"], ["@FOLDER/lines.txt"], ["@FOLDER/a.json"],
            ["-T", "FOLDER/lines.txt"], ["-T", "FOLDER/lines.txt", "-X", "POST"],
            ["-T", "FOLDER/lines.txt", "-H", "Content-Type: text/x"], ["-H", "X-Empty;", "-A", ""],
        ])
    func pasted(words: [String]) async throws {
        let server = try await WireServer.start()
        let folder = try TemporaryFolder()
        for name in ["lines.txt", "it's; \"a\",\nb.txt"] {
            try Data("one=1\ntwo=2\n".utf8).write(to: URL(fileURLWithPath: folder.path(name)))
        }
        try Data(#"{"a":1}"#.utf8).write(to: URL(fileURLWithPath: folder.path("a.json")))
        let all =
            ["http://127.0.0.1:\(server.port)/a"]
            + words.map { $0.replacingOccurrences(of: "FOLDER", with: folder.path) }
        let sent = await (try ToolProcess(all)).end()
        #expect(sent.status == 0, "\(sent.complaints)")
        let request = await server.take()
        let command = await (try ToolProcess(["--curl", "--show-secrets"] + all)).end()
        #expect(command.status == 0 && !command.output.contains("\u{1B}"), "\(command)")
        let pasted = await (try ToolProcess(["-c", command.output], program: "/bin/sh")).end()
        #expect(pasted.status == 0, "\(command.output) \(pasted.complaints)")
        // Some versions of curl ask for permission to send a body.
        let second = await server.take()?.replacingOccurrences(of: "Expect: 100-continue\n", with: "")
        #expect(second == request, "\(command.output)")
        await server.shutdown()
    }

    @Test(
        "secrets are masked in JSON, in forms and in files",
        arguments: [
            ["-d", #"{"user":"ada","password":"hunter2"}"#], ["--json", #"{"a":[{"api_key":"hunter2"}]}"#],
            ["--json", #"{"token":"#, "--json", #""hunter2"}"#], ["--json", "@FOLDER/secret.json"],
            ["-d", "@FOLDER/form"], ["--data-urlencode", "password@FOLDER/word"], ["password=@FOLDER/word"],
            ["secret:=@FOLDER/secret.json"], ["a:=@FOLDER/secret.json"], ["X-Api-Key:@FOLDER/word"],
            ["password==@FOLDER/word"], ["-G", "-d", "@FOLDER/form"],
        ])
    func masking(words: [String]) async throws {
        let folder = try TemporaryFolder()
        for (name, text) in [
            ("secret.json", #"{"password":"hunter2"}"#), ("form", "user=ada&password=hunter2"), ("word", "hunter2"),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
        }
        let words = words.map { $0.replacingOccurrences(of: "FOLDER", with: folder.path) }
        let masked = await (try ToolProcess(["--curl", "http://a.test/"] + words)).end()
        #expect(masked.status == 0 && !masked.output.contains("hunter2"), "\(masked)")
        #expect(masked.output.contains("***"), "\(masked.output)")
        let shown = await (try ToolProcess(["--curl", "--show-secrets", "http://a.test/"] + words)).end()
        #expect(shown.output.contains("hunter2"), "\(shown)")
    }
}
