import Cookbook
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import InMemoryTracing
import MetricsTestKit
import Testing

@Suite("The cookbook's cache and server", .timeLimit(.minutes(1)))
struct ServerTests {
    @Test("an article comes from the network, from the disk, and from the disk while the server is gone")
    func offline() async throws {
        let server = try await MockServer.start { request in
            guard request.path != "/articles/fresh" else {
                return MockResponse(fields: [.cacheControl: "max-age=600"], body: "fresh")
            }
            if request.fields[.ifNoneMatch] == "\"1\"" { return MockResponse(status: .notModified) }
            return MockResponse(fields: [.cacheControl: "max-age=0", .eTag: "\"1\""], body: "old")
        }
        let folder = try TemporaryFolder()
        let url = server.url()
        var found: [String] = []
        func read(_ name: String, isOffline: Bool = false) async throws {
            let (text, source) = try await article(name, from: url, cache: folder.path, isOffline: isOffline)
            found.append("\(text) \(source)")
        }
        for name in ["fresh", "fresh", "old", "old"] { try await read(name) }
        #expect(found == ["fresh miss", "fresh hit", "old miss", "old revalidated"])
        await server.shutdown()
        found = []
        try await read("fresh")
        try await read("old")
        try await read("old", isOffline: true)
        #expect(found == ["fresh hit", "old stale", "old stale"])
        let unknown = await #expect(throws: CurlewError.self) { try await read("new") }
        #expect(unknown?.code == .connectionRefused)
        let missing = await #expect(throws: CurlewError.self) { try await read("new", isOffline: true) }
        #expect(missing?.status == .gatewayTimeout)
    }

    /// The three services behind a shop. The offers wait at a gate, if there is one.
    private func upstreams(gate: Gate? = nil) async throws -> [MockServer] {
        let users = try await MockServer.start { _ in .json(#"{"name":"Ada"}"#) }
        let orders = try await MockServer.start { request in
            request.method == .get && request.path == "/orders/7"
                ? .json(#"[{"id":1}]"#) : .json("{}", status: .created)
        }
        let offers = try await MockServer.start { _ in
            await gate?.pass()
            return .json(#"[{"title":"A scope"}]"#)
        }
        return [users, orders, offers]
    }

    @Test("a page has the parts that arrived before the deadline, and its calls are measured and traced")
    func deadline() async throws {
        let gate = Gate()
        let upstreams = try await upstreams(gate: gate)
        let (ports, tell) = AsyncStream.makeStream(of: Int.self)
        var shop = ShopServer(
            port: 0, users: upstreams[0].url("").dropped, orders: upstreams[1].url("").dropped,
            offers: upstreams[2].url("").dropped, deadline: .milliseconds(300), onRunning: { tell.yield($0) })
        let metrics = TestMetrics()
        let tracer = InMemoryTracer()
        shop.metrics = metrics
        shop.tracer = tracer
        let running = Task { [shop] in try await shop.run() }
        let port = try #require(await ports.first { _ in true })
        let client = try HTTPSession(baseURL: "http://127.0.0.1:\(port)/", chain: .bare)

        let page = try await client.get("page/7", as: JSONValue.self)
        #expect(page == ["profile": ["name": "Ada"], "orders": [["id": 1]]])
        let asked = try #require(await upstreams[0].takeRequest())
        let left = try #require(asked.fields[HTTPField.Name("X-Deadline-Ms")!].flatMap { Int($0) })
        #expect((1...300).contains(left) && asked.target == "/users/7")

        let created = try await client.post("proxy/orders/new?x=1", .text("a scope"))
        #expect(created.status == .created && created.fields[HTTPField.Name("Via")!] == "1.1 shop")
        let passed = await upstreams[1].recorded().last
        #expect(passed?.target == "/orders/new?x=1" && passed?.text == "a scope")

        await gate.open()
        #expect(try await client.get("page/7", as: .text).contains("A scope"))
        try await eventually("the calls are measured") {
            metrics.timers.contains { $0.label == "http.client.request.duration" }
        }
        try await eventually("the spans have ended") { tracer.finishedSpans.contains { $0.operationName == "GET" } }
        await client.shutdown()
        running.cancel()
        _ = try? await running.value
        for upstream in upstreams { await upstream.shutdown() }
    }

    @Test("SIGTERM ends the server with the exit status 0")
    func terminate() async throws {
        let upstreams = try await upstreams()
        let program = try ProgramProcess(["shop", "0"] + upstreams.map { $0.url("").dropped })
        try await eventually("the server takes connections") { !program.lines.isEmpty }
        let client = try HTTPSession(baseURL: program.lines[0], chain: .bare)
        #expect(try await client.get("page/7").status == .ok)
        await client.shutdown()
        program.send(SIGTERM)
        #expect(await program.end().status == 0)
        for upstream in upstreams { await upstream.shutdown() }
    }
}

extension String {
    /// The text without a slash at its end.
    fileprivate var dropped: String { hasSuffix("/") ? String(dropLast()) : self }
}
