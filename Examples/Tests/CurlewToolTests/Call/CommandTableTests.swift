import Foundation
import Testing

/// Everyday commands of curl and HTTPie, and their requests.
@Suite("Everyday commands", .timeLimit(.minutes(3)))
struct CommandTableTests {
    /// A command line; `URL` stands for that of the server and `FOLDER` for a folder with files.
    struct Command: Sendable, CustomTestStringConvertible {
        /// The words for the tool.
        var words: [String]
        /// The words for curl, with the same bytes on the wire; nil for a command of HTTPie.
        var curl: [String]?
        /// The request, for a command that is not compared with curl.
        var request: String?
        var input: String?

        var testDescription: String { words.joined(separator: " ") }

        /// A command that curl has in the same words.
        static func same(_ words: String..., input: String? = nil) -> Command {
            Command(words: words, curl: words, input: input)
        }

        static func pair(_ words: [String], curl: [String]) -> Command { Command(words: words, curl: curl) }

        static func item(_ words: String..., sends request: String, input: String? = nil) -> Command {
            Command(words: words, request: request, input: input)
        }
    }

    private static let json = "Accept: application/json, */*;q=0.5\nContent-Length: "

    static let commands: [Command] = [
        // curl
        .same("URL/a"),
        .same("-s", "URL/a?b=c&d=%20e"),
        .same("-X", "DELETE", "URL/users/1"),
        .same("-XPUT", "-d", "a=b", "URL/a"),
        .same("-d", "user=ada&pin=1", "URL/login"),
        .same("-d", "a=1", "-d", "b=2", "URL/form"),
        .same("-d", "@FOLDER/lines.txt", "URL/form"),
        .same("-d", "@-", "URL/form", input: "from=input\n"),
        .same("--data-raw", "@not-a-file", "URL/form"),
        .same("--data-binary", "@FOLDER/lines.txt", "URL/form"),
        .same("--data-urlencode", "q=a b&c/ä", "URL/form"),
        .same("--data-urlencode", "note@FOLDER/lines.txt", "-d", "a=b", "URL/form"),
        .same("-G", "-d", "q=bird", "--data-urlencode", "place=a b&c", "URL/find"),
        .same("-H", "Content-Type: application/json", "-d", #"{"a":1}"#, "URL/a"),
        .same("--json", #"{"a":[1,2]}"#, "URL/a"),
        .same("--json", "@FOLDER/a.json", "URL/a"),
        .same("-X", "PATCH", "--json", "{}", "URL/a"),
        .same("-H", "X-One: 1", "-H", "X-Two: 2", "-H", "Accept: text/html", "URL/a"),
        .same("-H", "User-Agent:", "-H", "X-Empty;", "URL/a"),
        .same("-A", "Mozilla/5.0", "-e", "http://from.test/", "URL/a"),
        .same("-b", "a=1; b=2", "URL/a"),
        .same("-u", "ada:secret word", "URL/a"),
        .same("-r", "0-99", "URL/a"),
        .same("-I", "URL/a"),
        .same("-i", "URL/a"),
        .same("-sSLf", "URL/a"),
        .same("-o", "/dev/null", "-s", "-w", "%{http_code}", "URL/a"),
        // This curl asks for permission to send a body with PUT.
        .pair(
            ["-T", "FOLDER/lines.txt", "URL/a.txt"], curl: ["-H", "Expect:", "-T", "FOLDER/lines.txt", "URL/a.txt"]),
        .same("-H", "Expect:", "-T", "FOLDER/lines.txt", "-X", "POST", "URL/a"),
        .same("-H", "Expect:", "-T", "FOLDER/lines.txt", "URL/folder/"),
        .same("-H", "Expect:", "-T", "FOLDER/lines.txt", "URL?a=b"),
        .same("-A", "", "URL/a"),
        .same("-G", "URL/a"),
        .same("-F", #"a="x;y""#, "-F", #"file=@"FOLDER/lines.txt";type=text/plain;filename="a;b""#, "URL/form"),
        .same("-F", "name=Ada", "-F", "note=two words", "URL/form"),
        .same("-F", "file=@FOLDER/lines.txt;type=text/plain", "-F", "a=b", "URL/form"),
        .same("-F", "text=<FOLDER/lines.txt", "URL/form"),
        .same("--http1.1", "--max-time", "10", "--retry", "1", "URL/a"),
        .same("--resolve", "bird.test:PORT:127.0.0.1", "http://bird.test:PORT/a"),
        .same("--resolve", "+bird.test:PORT:127.0.0.1", "http://bird.test:PORT/a"),
        .same("--resolve", "*:PORT:127.0.0.1", "http://bird.test:PORT/a"),
        .same("-4", "--connect-to", "[::1]:80:127.0.0.1:PORT", "http://[::1]/a"),
        .same("--connect-to", "bird.test:80:127.0.0.1:PORT", "http://bird.test/a"),
        // HTTPie, with the command of curl that has the same bytes
        .pair(["URL/find", "q==bird", "page==2"], curl: ["URL/find?q=bird&page=2"]),
        .pair(
            ["PUT", "URL/a", "X-One:1", "@FOLDER/lines.txt"],
            curl: [
                "-T", "FOLDER/lines.txt", "-H", "X-One: 1", "-H", "Content-Type: text/plain", "-H", "Expect:", "URL/a",
            ]),
        .pair(["delete", "URL/users/1"], curl: ["-X", "DELETE", "URL/users/1"]),
        .pair(["HEAD", "URL/a"], curl: ["-I", "URL/a"]),
        .pair(["OPTIONS", "URL/a"], curl: ["-X", "OPTIONS", "URL/a"]),
        .pair(["URL/a", "User-Agent:bird", "Cookie:a=b"], curl: ["-A", "bird", "-b", "a=b", "URL/a"]),
        .pair(
            ["URL/form", "name=Ada", "file@FOLDER/lines.txt;type=text/plain"],
            curl: ["-F", "name=Ada", "-F", "file=@FOLDER/lines.txt;type=text/plain", "URL/form"]),
        // HTTPie alone
        .item(
            "URL/users", "name=Ada", "age:=36", "tags:=[\"a\",\"b\"]",
            sends:
                "POST /users HTTP/1.1\n\(json)40\nContent-Type: application/json\n\n{\"name\":\"Ada\",\"age\":36,\"tags\":[\"a\",\"b\"]}"
        ),
        .item(
            "patch", "URL/users/1", "on:=true", "X-Key:1", "note=@FOLDER/lines.txt",
            sends:
                "PATCH /users/1 HTTP/1.1\n\(json)33\nContent-Type: application/json\nX-Key: 1\n\n{\"on\":true,\"note\":\"one=1\\ntwo=2\"}"
        ),
        .item(
            "URL/users", "given:=@FOLDER/a.json",
            sends: "POST /users HTTP/1.1\n\(json)17\nContent-Type: application/json\n\n{\"given\":{\"a\":1}}"),
        .item(
            "URL/log", "@-",
            sends: "POST /log HTTP/1.1\nAccept: */*\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
            input: "hello"),
    ]

    @Test("a command sends the request that curl or HTTPie would send", arguments: commands)
    func request(command: Command) async throws {
        let server = try await WireServer.start()
        let folder = try TemporaryFolder()
        try Data("one=1\ntwo=2\n".utf8).write(to: URL(fileURLWithPath: folder.path("lines.txt")))
        try Data(#"{"a":1}"#.utf8).write(to: URL(fileURLWithPath: folder.path("a.json")))
        func send(_ words: [String], program: String?) async throws -> String? {
            let words = words.map {
                $0.replacingOccurrences(of: "URL", with: "http://127.0.0.1:\(server.port)")
                    .replacingOccurrences(of: "PORT", with: "\(server.port)")
                    .replacingOccurrences(of: "FOLDER", with: folder.path)
            }
            let end = await (try ToolProcess(words, input: command.input, program: program)).end()
            #expect(end.status == 0, "\(end.complaints)")
            return await server.take()
        }
        let request = try await send(command.words, program: nil)
        if let expected = command.request { #expect(request == expected) }
        if let curl = command.curl {
            #expect(request == (try await send(["--no-progress-meter"] + curl, program: "/usr/bin/curl")))
        }
        await server.shutdown()
    }

    @Test("the table has at least 40 commands, of which 30 are compared with curl")
    func size() {
        #expect(Self.commands.count >= 40 && Self.commands.count { $0.curl != nil } >= 30)
    }
}
