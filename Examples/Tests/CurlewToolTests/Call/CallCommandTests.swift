import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import HTTPTypes
import Testing

@Suite("A call by the tool", .timeLimit(.minutes(2)))
struct CallCommandTests {
    private let json = #"{"name":"curlew","legs":2,"songs":["cur-lee"]}"#

    private func server(_ text: String, _ type: String = "application/json", _ fields: HTTPFields = [:]) async throws
        -> MockServer
    {
        try await MockServer.start { _ in
            var response = MockResponse(fields: fields, body: .string(text))
            response.fields[.contentType] = type
            return response
        }
    }

    @Test("the body, and only the body, goes into a pipe as it is")
    func pipe() async throws {
        let server = try await server(json)
        let end = try await ToolProcess.run(server.url("/a"))
        #expect(end.is(0, json, ""))
        #expect((try await ToolProcess.run("get", server.url("/a"))).is(0, json, ""))
        await server.shutdown()
    }

    @Test("JSON is formatted and coloured on a terminal, and only formatted with NO_COLOR")
    func terminal() async throws {
        let server = try await server(json)
        let shown = try await ToolProcess.run(server.url(), columns: 80)
        let lines = ["{", "  \"name\": \"curlew\",", "  \"legs\": 2,", "  \"songs\": [", "    \"cur-lee\"", "  ]", "}"]
        #expect(shown.status == 0 && Screen.lines(shown.output, width: 80) == lines)
        #expect(shown.output.contains("\u{1B}[34;1m\"name\"\u{1B}[0m: \u{1B}[32m\"curlew\"\u{1B}[0m"))
        let plain = try await ToolProcess.run(server.url(), columns: 80, variables: ["NO_COLOR": "1"])
        #expect(Screen.lines(plain.output, width: 80) == lines && !plain.output.contains("\u{1B}"))
        let never = try await ToolProcess.run("--color", "never", server.url(), columns: 80)
        #expect(Screen.lines(never.output, width: 80) == lines && !never.output.contains("\u{1B}"))
        let always = try await ToolProcess.run("--color=always", server.url())
        #expect(always.output.contains("\u{1B}[34;1m\"name\""))
        #expect(try await ToolProcess.run("-o", "-", server.url(), columns: 80).output == json)
        await server.shutdown()
    }

    @Test("control characters in fields and bodies are shown on a terminal, and left as they are in a pipe")
    func injection() async throws {
        let evil = "\u{1B}]0;owned\u{7}a\u{1B}[2J\u{9B}31m\u{202E}b\n"
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "text/plain", .server: "a\u{9B}2Jb"], body: .string(evil))
        }
        let shown = try await ToolProcess.run("-i", "-v", server.url(), columns: 80)
        #expect(
            shown.status == 0 && !shown.output.contains("\u{1B}") && !shown.output.unicodeScalars.contains("\u{9B}"))
        #expect(shown.output.contains("^[]0;owned^Ga^[[2J<U+9B>31m<U+202E>b"))
        #expect(try await ToolProcess.run(server.url()).output == evil)
        await server.shutdown()
    }

    @Test("a binary body is refused on a terminal with a hint, and goes into a pipe")
    func binary() async throws {
        let bytes = [UInt8]([0x89, 0x50, 0x4E, 0x47, 0, 1, 2, 3])
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "image/png"], body: .bytes(bytes))
        }
        let shown = try await ToolProcess.run(server.url(), columns: 100)
        #expect(shown.status == 23 && shown.output.contains("the body is binary; --output FILE saves it"))
        let folder = try TemporaryFolder()
        #expect(try await ToolProcess.run("-o", folder.path("a"), server.url()).status == 0)
        #expect(FileManager.default.contents(atPath: folder.path("a")) == Data(bytes))
        await server.shutdown()
    }

    @Test("a status is an error with --fail alone, with or without the body")
    func failing() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .notFound, body: "no bird") }
        #expect((try await ToolProcess.run(server.url())).is(0, "no bird", ""))
        let failed = try await ToolProcess.run("-f", server.url())
        #expect(
            failed.status == 22 && failed.output.isEmpty
                && failed.complaints.contains("the server answered 404 Not Found"))
        #expect((try await ToolProcess.run("-sf", server.url())).is(22, "", ""))
        let body = try await ToolProcess.run("--fail-with-body", "-sS", server.url())
        #expect(body.status == 22 && body.output == "no bird" && body.complaints.contains("404"))
        await server.shutdown()
    }

    @Test("the exit statuses are curl's")
    func statuses() async throws {
        let refused = try RefusedPort.unused()
        #expect(try await ToolProcess.run("http://127.0.0.1:\(refused.port)/").status == 7)
        #expect(try await ToolProcess.run("http://nowhere.invalid/").status == 6)
        #expect(try await ToolProcess.run("ftp://127.0.0.1/").status == 1)
        #expect(try await ToolProcess.run("http://127.0.0.1:99999/").status == 3)
        #expect(try await ToolProcess.run("--http3", "http://127.0.0.1:\(refused.port)/").status == 4)
        #expect(try await ToolProcess.run("--nonsense").status == 2)
        let silent = try await RawServer.start { connection in try await connection.drain() }
        #expect(try await ToolProcess.run("-m", "0.2", silent.url()).status == 28)
        await silent.shutdown()
        let empty = try await RawServer.start { connection in
            _ = try await connection.readHead()
            await connection.close()
        }
        #expect(try await ToolProcess.run(empty.url()).status == 52)
        await empty.shutdown()
        let short = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            await connection.close()
        }
        let truncated = try await ToolProcess.run(short.url())
        #expect(truncated.status == 18 && truncated.output == "abc")
        await short.shutdown()
    }

    @Test("redirects are followed with --location alone, and every head is shown with --include")
    func redirects() async throws {
        let server = try await MockServer.start { request in
            request.path == "/end"
                ? MockResponse(body: "end") : MockResponse(status: .found, fields: [.location: "/end"], body: "begin")
        }
        #expect(try await ToolProcess.run(server.url("/a")).output == "begin")
        let followed = try await ToolProcess.run("-iL", server.url("/a"))
        #expect(followed.output.hasPrefix("HTTP/1.1 302 Found\r\n") && followed.output.hasSuffix("\r\n\r\nend"))
        #expect(followed.output.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"))
        await server.shutdown()
    }

    @Test(
        "a head and a body are printed as curl prints them",
        arguments: [["-i"], ["-I"], ["-iL"], ["-s"], ["-i", "-X", "OPTIONS"]])
    func likeCurl(options: [String]) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/end" else {
                return MockResponse(status: .found, fields: [.location: "/end"], body: "begin")
            }
            return MockResponse(
                status: .created,
                fields: [.contentType: "text/plain", .init("X-Odd-CASE")!: "a  b", .setCookie: "a=b"],
                body: "end")
        }
        for path in ["/end", "/a"] {
            let own = await (try ToolProcess(options + [server.url(path)])).end()
            let words = ["--no-progress-meter"] + options + [server.url(path)]
            let curl = await (try ToolProcess(words, program: "/usr/bin/curl")).end()
            #expect(own.status == 0 && own.output == curl.output)
        }
        await server.shutdown()
    }

    @Test("events are printed before the next one is sent, and lines of JSON likewise", arguments: ["event", "line"])
    func events(kind: String) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            let type = kind == "event" ? "text/event-stream" : "application/x-ndjson"
            return MockResponse(
                fields: [.contentType: type],
                body: .stream { writer in
                    try await writer.write(Array((kind == "event" ? "data: {\"a\":1}\n\n" : "{\"a\":1}\n").utf8))
                    for await _ in gate { break }
                    try await writer.write(Array((kind == "event" ? "data: b\ndata: c\n\n" : "{\"b\":2}\n").utf8))
                })
        }
        let process = try CommandProcess(["--events", server.url()])
        #expect(await process.next() == "{\"a\":1}")
        open.finish()
        #expect(await process.next() == (kind == "event" ? "b" : "{\"b\":2}"))
        if kind == "event" { #expect(await process.next() == "c") }
        #expect(await process.status() == 0)
        await server.shutdown()
    }

    @Test("a closed pipe ends the call quietly")
    func closedPipe() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 64 << 20)) }
        let tool = try ToolProcess.tool()
        let script = "'\(tool)' \(server.url()) | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}"
        let end = await (try ToolProcess(["-c", script], program: "/bin/bash")).end()
        #expect(end.output == "23\n" && end.complaints.isEmpty)
        await server.shutdown()
    }

    @Test("a full disk is an error with a reason")
    func fullDisk() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 100_000)) }
        let end = try await ToolProcess.run("-o", "/dev/full", server.url())
        #expect(end.status == 23 && end.complaints.contains("disk-full: /dev/full cannot be written"))
        await server.shutdown()
    }

    @Test("the memory of a call does not grow with its body, formatted or not", arguments: [true, false])
    func memory(isFormatted: Bool) async throws {
        let chunk = Array(String(repeating: #"{"name":"curlew","legs":2},"#, count: 20_000).utf8)
        // Formatting takes long in a build for debugging.
        let count = isFormatted ? 40 : 200
        let (gates, openGate) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "application/json"],
                body: .stream { writer in
                    try await writer.write([UInt8(ascii: "[")] + chunk)
                    for await _ in gates { break }
                    for _ in 0..<count { try await writer.write(chunk) }
                    for await _ in gates { break }
                })
        }
        let tool = try ToolProcess(["--color", isFormatted ? "always" : "never", server.url()])
        try await eventually("the first part is printed") { tool.outputSize >= chunk.count }
        let before = try #require(tool.residentPeak)
        openGate.yield()
        try await eventually("the body is printed", within: .seconds(60)) {
            tool.outputSize >= chunk.count * (count + 1)
        }
        let after = try #require(tool.residentPeak)
        openGate.yield()
        #expect(await tool.end().status == 0)
        #expect(after - before < 12 << 20, "\(before) to \(after)")
        await server.shutdown()
    }

    @Test("an interrupt ends a call with 130", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let server = try await RawServer.start { connection in try await connection.drain() }
        let tool = try ToolProcess(["-v", server.url()])
        try await eventually("the request is sent") { tool.complaints.contains("> GET /") }
        tool.send(signal)
        #expect(await tool.end().status == 130)
        await server.shutdown()
    }

    @Test("--timing has the phases and the connection, --write-out has curl's variables")
    func timing() async throws {
        let server = try await server("hello", "text/plain")
        let end = try await ToolProcess.run("--timing", server.url("/a"))
        #expect(end.output == "hello")
        for word in [
            "GET \(server.url("/a")): 200", "127.0.0.1:\(server.port), HTTP/1.1, new", "first byte", "total",
            "5 B body",
        ] {
            #expect(end.complaints.contains(word), "\(end.complaints)")
        }
        let format = "%{http_code} %{size_download} %{content_type} %{num_connects} 100%%\\n"
        #expect(
            try await ToolProcess.run("-s", "-o", "/dev/null", "-w", format, server.url()).output
                == "200 5 text/plain 1 100%\n")
        await server.shutdown()
    }

    @Test("--curl prints the command, masks secrets without --show-secrets, and sends nothing")
    func curlCommand() async throws {
        let server = try await server("")
        let words = ["--curl", "-L", "-u", "me:hunter2", server.url("/a?token=abc&q=x"), "password=p4ss", "name=Ada"]
        let masked = await (try ToolProcess(words)).end()
        #expect(masked.status == 0, "\(masked.complaints)")
        for secret in ["hunter2", "abc", "p4ss", "bWU6"] {
            #expect(!masked.output.contains(secret), "\(masked.output)")
        }
        #expect(masked.output.contains("q=x") && masked.output.contains("Ada") && masked.output.contains("--location"))
        let shown = await (try ToolProcess(words + ["--show-secrets"])).end()
        #expect(shown.output.contains("p4ss") && shown.output.contains("token=abc"))
        #expect(server.requestCount == 0)
        await server.shutdown()
    }

    @Test("--verbose prints both heads on standard error, and masks secrets without --show-secrets")
    func verbose() async throws {
        let server = try await server("hello", "text/plain")
        let end = try await ToolProcess.run("-v", "-u", "me:hunter2", server.url("/a"))
        #expect(end.output == "hello" && end.complaints.hasPrefix("> GET /a\n> Host: 127.0.0.1:\(server.port)\n"))
        #expect(end.complaints.contains("> Authorization: ***\n") && end.complaints.contains("< HTTP/1.1 200 OK\n"))
        let shown = try await ToolProcess.run("-v", "--show-secrets", "-u", "me:hunter2", server.url("/a"))
        #expect(shown.complaints.contains("> Authorization: Basic bWU6aHVudGVyMg==\n"))
        await server.shutdown()
    }

    @Test("--verbose masks secrets of the query, of cookies, of response fields and of references")
    func verboseSecrets() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                status: .found,
                fields: [
                    .location: "/next?token=SECRET1&page=2", .setCookie: "sid=SECRET2; Path=/",
                    HTTPField.Name("X-Amz-Security-Token")!: "SECRET3",
                ])
        }
        let words = ["-v", server.url("/a?api_key=SECRET4&page=1")]
        let masked = await (try ToolProcess(words)).end()
        #expect(!masked.complaints.contains("SECRET"), "\(masked.complaints)")
        for kept in ["> GET /a?api_key=***&page=1", "/next?token=***&page=2", "sid=***; Path=/"] {
            #expect(masked.complaints.contains(kept), "\(masked.complaints)")
        }
        let shown = await (try ToolProcess(words + ["--show-secrets"])).end()
        for number in 1...4 { #expect(shown.complaints.contains("SECRET\(number)")) }
        await server.shutdown()
    }

    @Test("--version has Curlew's version, and names the libraries")
    func version() async throws {
        let version = try #require(SessionConfiguration.defaultUserAgent.split(separator: "Curlew/").last)
        for word in ["--version", "-V"] {
            let end = try await ToolProcess.run(word)
            #expect(end.status == 0 && end.output.hasPrefix("curlew \(version)\n"), "\(end.output)")
            for library in ["libcurl ", "OpenSSL ", "nghttp2 "] {
                #expect(end.output.contains(library), "\(end.output)")
            }
        }
    }

    @Test("--remote-name takes the name of the URL into the working folder, and no other place")
    func remoteName() async throws {
        let server = try await server("hello", "text/plain")
        let folder = try TemporaryFolder()
        let tool = try ToolProcess.tool()
        func run(_ path: String) async throws -> Int32 {
            let script = "cd '\(folder.path)' && '\(tool)' -sO '\(server.url(path))'"
            return await (try ToolProcess(["-c", script], program: "/bin/bash")).end().status
        }
        #expect(try await run("/x/page.html") == 0 && folder.names == ["page.html"])
        #expect(try await run("/x/") == 23)
        #expect(try await run("/..%2Fescaped") == 0 && folder.names == ["..%2Fescaped", "page.html"])
        await server.shutdown()
    }

    @Test("a compressed body is decompressed with --compressed")
    func compressed() async throws {
        let server = try await MockServer.start { request in
            let response = MockResponse(fields: [.contentType: "text/plain"], body: "hello hello hello")
            return request.fields[.acceptEncoding] == nil ? response : try response.encoded(.gzip)
        }
        #expect((try await ToolProcess.run("--compressed", server.url())).is(0, "hello hello hello", ""))
        #expect(
            try await ToolProcess.run("--compressed", "-i", server.url()).output.lowercased().contains(
                "content-encoding: gzip"))
        #expect((try await ToolProcess.run(server.url())).is(0, "hello hello hello", ""))
        await server.shutdown()
    }
}
