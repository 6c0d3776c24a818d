import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@Suite("A failed call by the tool", .timeLimit(.minutes(1)))
struct CallFailureTests {
    @Test("--write-out is printed after a failure, too, as by curl")
    func writeOut() async throws {
        let refused = "http://127.0.0.1:\(try RefusedPort.unused().port)/a"
        let words = ["-s", "-o", "/dev/null", "-w", "%{http_code} %{url_effective} %{size_download} %{exitcode}\n"]
        #expect((await (try ToolProcess(words + [refused])).end()).is(7, "000 \(refused) 0 7\n", ""))
        let short = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            await connection.close()
        }
        for program in [nil, "/usr/bin/curl"] {
            let end = await (try ToolProcess(words + [short.url("/a")], program: program)).end()
            #expect(end.is(18, "200 \(short.url("/a")) 3 18\n", ""), "\(end)")
        }
        await short.shutdown()
    }

    @Test("an unknown variable of --write-out is reported")
    func unknownVariable() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let end = try await ToolProcess.run("-w", "[%{nonsense}]", server.url())
        #expect(end.is(0, "hello[]", "curlew: --write-out has no variable nonsense\n"), "\(end)")
        await server.shutdown()
    }

    @Test(
        "a value with a control character is refused, and nothing is sent",
        arguments: [
            ["X-A:a\nb"], ["-H", "X-A: a\r\nX-B: c"], ["-A", "a\nb"], ["-b", "a=b\r\nX-B: c"], ["X-A:\u{1B}"],
        ])
    func values(words: [String]) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let end = await (try ToolProcess([server.url()] + words)).end()
        #expect(end.status == 2 && end.complaints.contains("has a line break or another control character"), "\(end)")
        #expect(server.requestCount == 0)
        await server.shutdown()
    }

    @Test("a command line without a URL is refused by name")
    func withoutURL() async throws {
        let end = try await ToolProcess.run("-i")
        #expect(end.status == 2 && end.complaints.contains("There is no URL."), "\(end)")
    }

    @Test("-O without a name in the URL is refused before the request")
    func remoteName() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        #expect(try await ToolProcess.run("-O", server.url("/")).status == 23)
        #expect(server.requestCount == 0)
        await server.shutdown()
    }

    @Test("a line of a log that begins with a bracket is left as it is on a terminal")
    func logLines() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "text/plain"], body: "[12:00] a, b: {c}\n{\"a\":1}\n")
        }
        let end = try await ToolProcess.run("--events", server.url(), columns: 80)
        #expect(Screen.lines(end.output, width: 80) == ["[12:00] a, b: {c}", "{", "  \"a\": 1", "}"])
        await server.shutdown()
    }

    @Test("a full disk is an error of every command", arguments: [["manual"], ["--curl", "a.test"]])
    func fullDisk(words: [String]) async throws {
        let tool = try ToolProcess.tool()
        let script = "'\(tool)' \(words.joined(separator: " ")) >/dev/full"
        let end = await (try ToolProcess(["-c", script], program: "/bin/sh")).end()
        #expect(end.status == 23 && end.complaints.contains("disk-full: standard output cannot be written"), "\(end)")
    }
}
