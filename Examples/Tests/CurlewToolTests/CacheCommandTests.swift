import CurlewTesting
import HTTPTypes
import Testing

@Suite("curlew --cache and curlew cache", .timeLimit(.minutes(1)))
struct CacheCommandTests {
    @Test("a response stored by one process answers the next process, is listed and shown, and can be removed")
    func twoProcesses() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.cacheControl: "max-age=3600", .contentType: "text/plain"], body: "hello")
        }
        let folder = try TemporaryFolder()
        let place = ["--cache-folder", folder.path("cache")]
        func run(_ arguments: String...) async throws -> ToolProcess.End {
            await (try ToolProcess(arguments + place)).end()
        }
        #expect(try await run("get", "--cache", server.url("/a")).complaints.contains("cache: miss"))
        #expect(try await run("get", "--cache", server.url("/a")).complaints.contains("cache: hit"))
        #expect(server.requestCount == 1)

        let list = try await run("cache", "list")
        #expect(list.output.contains("200  5 B  text/plain  \(server.url("/a"))"))
        #expect(list.complaints.contains("1 entry, "))
        let shown = try await run("cache", "show", server.url("/a"))
        #expect(shown.output.lowercased().contains("cache-control: max-age=3600"))
        #expect(try await run("cache", "show", "--body", server.url("/a")).output == "hello")
        #expect(try await run("cache", "show", server.url("/b")).status == 1)

        #expect(try await run("cache", "clear", server.url("/b")).status == 0)
        #expect(try await run("get", "--cache", server.url("/a")).complaints.contains("cache: hit"))
        #expect(try await run("cache", "clear").status == 0)
        #expect(try await run("get", "--cache", server.url("/a")).complaints.contains("cache: miss"))
        await server.shutdown()
    }
}
