import CurlewTesting
import FoundationEssentials
import HTTPTypes
import Testing

@Suite("curlew queue", .timeLimit(.minutes(1)))
struct QueueCommandTests {
    @Test("another process runs the added transfers, and they are listed, shown and cleared")
    func wholeWay() async throws {
        let server = try await MockServer.start { request in
            request.path == "/missing" ? MockResponse(status: .notFound) : MockResponse(body: "hello")
        }
        let folder = try TemporaryFolder()
        let place = ["--queue-folder", folder.path("queue")]
        func run(_ arguments: String...) async throws -> ToolProcess.End {
            await (try ToolProcess(["queue"] + arguments + place)).end()
        }
        let added = try await run("add", server.url("/file"), "--output", folder.path("file"))
        let id = String(added.output.prefix(32))
        #expect(added.status == 0 && id.utf8.count == 32)
        #expect(try await run("list").output.hasPrefix("\(id) waiting"))
        #expect(try await run("suspend", String(id.prefix(8))).output == "1\n")
        #expect(try await run("suspend", "zz").status == 2)
        #expect(try await run("show", String(id.prefix(8))).output.contains("state     suspended"))
        #expect(try await run("resume", "--all").output == "1\n")
        #expect(try await run("suspend").status == 2)
        let done = try await run("run")
        #expect(done.status == 0, "\(done.complaints)")
        #expect(try String(decoding: Data(contentsOf: URL(filePath: folder.path("file"))), as: UTF8.self) == "hello")
        #expect(try await run("show", id).output.contains("file      \(folder.path("file"))"))
        _ = try await run("add", server.url("/missing"), "--output", folder.path("missing"))
        let failed = try await run("run")
        #expect(failed.status == 1)
        #expect(failed.complaints.contains("\(server.url("/missing")): unacceptable-status"), "\(failed.complaints)")
        let list = try await run("list").output
        #expect(list.contains("failed") && list.contains("unacceptable-status"))
        _ = try await run("add", server.url("/never"), "--output", folder.path("never"))
        #expect(try await run("cancel", "--all").output == "1\n")
        #expect(try await run("clear").status == 0)
        #expect(try await run("list").output.isEmpty)
        await server.shutdown()
    }

    @Test("the destination is checked when a transfer is added")
    func destination() async throws {
        let folder = try TemporaryFolder()
        func add(_ words: String...) async throws -> ToolProcess.End {
            await (try ToolProcess(["queue", "add"] + words + ["--queue-folder", folder.path("queue")])).end()
        }
        let missing = try await add("http://a.test/a", "-o", folder.path("none/"))
        #expect(
            missing.status == 23
                && missing.complaints.contains("there is no folder \(folder.path("none/")); --parents makes it"))
        #expect(try await add("http://a.test/a", "-o", folder.path("none/a")).status == 23)
        #expect(try await add("http://a.test/a", "-o", folder.path("none/a"), "--parents").status == 0)
        #expect(try await add("http://a.test/a", "http://a.test/b", "-o", folder.path("a")).status == 23)
        let words = ["http://a.test/x/a", "http://a.test/y/a", "-o", folder.path("") + "/"]
        let oneName = try await add(words[0], words[1], words[2], words[3])
        #expect(oneName.status == 2 && oneName.complaints.contains("would both be a; --rename numbers them."))
        #expect(try await add(words[0], words[1], words[2], words[3], "--rename").status == 0)
        #expect(try await add("http://a.test/p", "-o", folder.path("p"), "--priority", "5").status == 2)
        #expect(try await add("http://a.test/p", "-o", folder.path("p"), "--attempts", "0").status == 2)
        #expect(try await add("http://a.test:99999/", "-o", folder.path("a")).status == 3)
        #expect(try await add("http://a.test/", "--upload", folder.path("none")).status == 26)
        let store = await (try ToolProcess(["queue", "list", "--store", "./queue"])).end()
        #expect(store.status == 2 && store.complaints.contains("a folder is --queue-folder"))
    }

    @Test("a list has short names and reasons on a terminal", arguments: [40, 80, 120])
    func screens(columns: Int) async throws {
        let folder = try TemporaryFolder()
        let port = try RefusedPort.unused().port
        let place = ["--queue-folder", folder.path("queue")]
        let url = "http://127.0.0.1:\(port)/a"
        let added = await (try ToolProcess(["queue", "add", url, "-o", folder.path("a"), "--attempts", "1"] + place))
            .end()
        #expect(added.status == 0, "\(added.complaints)")
        _ = await (try ToolProcess(["queue", "run"] + place)).end()
        let end = await (try ToolProcess(["queue", "list"] + place, columns: columns)).end()
        let lines = Screen.lines(end.output, width: columns)
        #expect(lines.first?.hasPrefix("\(added.output.prefix(8)) failed  0 B  http") == true, "\(lines)")
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("    ") && $0.count < columns })
        #expect(lines.dropFirst().joined(separator: " ").contains("connection-refused"), "\(lines)")
    }

    @Test("an unreachable database is an error that hides the password, and excludes a queue folder")
    func database() async throws {
        let store = "postgres://me:hunter2@127.0.0.1:1/nowhere"
        let end = await (try ToolProcess(["queue", "list", "--store", store])).end()
        #expect(end.status == 121 && end.complaints.contains("queue-failed") && !end.complaints.contains("hunter2"))
        let both = await (try ToolProcess(["queue", "list", "--store", store, "--queue-folder", "/tmp/x"])).end()
        #expect(both.status == 2)
    }

    @Test("a worker shows its running transfers in a table on a terminal, and two workers share the work")
    func table() async throws {
        var content = MockResponse(body: .bytes([UInt8](repeating: 65, count: 400_000)))
        content.throttle = .init(bytes: 64 << 10, every: .milliseconds(100))
        let slow = content
        let server = try await MockServer.start { _ in slow }
        let folder = try TemporaryFolder()
        let place = ["--queue-folder", folder.path("queue")]
        let urls = (0..<6).map { server.url("/file\($0)") }
        let added = await (try ToolProcess(["queue", "add"] + urls + ["--output", folder.path("") + "/"] + place)).end()
        #expect(added.status == 0, "\(added.complaints)")
        let shown = try ToolProcess(["queue", "run"] + place, columns: 100)
        let other = try ToolProcess(["queue", "run"] + place)
        let (table, lines) = (await shown.end(), await other.end())
        #expect(table.status == 0 && lines.status == 0, "\(table.output) \(lines.complaints)")
        #expect(table.output.contains(" running") && table.output.contains("file0"))
        #expect(table.output.contains("\u{1B}[K") && table.output.contains("6 finished"))
        #expect(!lines.complaints.contains("\u{1B}") && lines.complaints.contains(" finished"))
        #expect(server.requestCount == 6)
        await server.shutdown()
    }
}
