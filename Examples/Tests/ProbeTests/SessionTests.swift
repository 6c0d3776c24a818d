import CurlewTesting
import Testing

@testable import Probe

@Suite("Concurrent lines of a session", .timeLimit(.minutes(1)))
struct SessionTests {
    private func isReused(_ probe: ProbeDriver, _ server: MockServer, _ session: String?) async throws -> JSONValue? {
        try await probe.fetch(server.url(), session.map { #""session":"\#($0)""# } ?? "")["reused"]
    }

    @Test("each session name has its own pool; null and an absent name use the default pool")
    func names() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let probe = ProbeDriver()
        for name in [nil, "a", "b"] {
            #expect(try await isReused(probe, server, name) == .bool(false))
            #expect(try await isReused(probe, server, name) == .bool(true))
        }
        #expect(try await probe.fetch(server.url(), #""session":null"#)["reused"] == .bool(true))
        #expect(try await probe.fetch(server.url(), #""session":"""#)["reused"] == .bool(false))
        #expect(server.connectionCounts.accepted == 4)
        await server.shutdown()
    }

    @Test("clear closes the idle connections of its session")
    func clear() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let probe = ProbeDriver()
        for name in [nil, "a"] { _ = try await isReused(probe, server, name) }
        await probe.send(#"{"id":9,"op":"clear","what":"connections"}"#)
        #expect(try await probe.nextLine() == #"{"id":9,"cleared":"connections"}"#)
        try await server.waitForConnections(open: 1)
        #expect(try await isReused(probe, server, "a") == .bool(true))
        #expect(try await isReused(probe, server, nil) == .bool(false))
        let unknown = try await probe.ask(#"{"id":9,"op":"clear","what":"connections","session":"never"}"#)
        #expect(unknown.string("cleared") == "connections")
        await server.shutdown()
    }

    @Test("clear is skipped while a request runs, and the answer reports it")
    func clearWhileBusy() async throws {
        let server = try await silentServer()
        let probe = ProbeDriver()
        await probe.send(#"{"id":1,"url":"\#(server.url())"}"#)
        try await server.waitForAccepted(1)
        let answer = try await probe.ask(#"{"id":2,"op":"clear","what":"connections"}"#)
        #expect(answer.skip == "clear connections while requests are under way")
        await server.shutdown()
        #expect(try await probe.answer(to: 1).code == "connection-lost")
    }

    @Test("a request counts as running from its line until its answer")
    func clearBehindFetch() async throws {
        // The server responds after the line that clears has its answer.
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse()
        }
        let probe = ProbeDriver()
        for round in 1...20 {
            await probe.send(#"{"id":\#(round),"url":"\#(server.url())"}"#)
            await probe.send(#"{"id":\#(-round),"op":"clear","what":"connections"}"#)
            await probe.send(#"{"id":100,"op":"clear","what":"connections","session":"other"}"#)
            #expect(try await probe.answer(to: -round).skip == "clear connections while requests are under way")
            #expect(try await probe.answer(to: 100).string("cleared") == "connections")
            open.yield()
            #expect(try await probe.answer(to: round)["status"] == .integer(200))
            let answer = try await probe.ask(#"{"id":0,"op":"clear","what":"connections"}"#)
            #expect(answer.string("cleared") == "connections")
        }
        await server.shutdown()
    }

    @Test(
        "a failed or skipped request no longer counts as running",
        arguments: [("nowhere", ""), ("http://127.0.0.1:1/", ""), ("http://127.0.0.1:1/", #""http_version":"2""#)])
    func clearAfterFailure(_ url: String, _ members: String) async throws {
        let probe = ProbeDriver()
        #expect(try await probe.fetch(url, members)["status"] == nil)
        await probe.send(#"{"id":9,"op":"clear","what":"connections"}"#)
        #expect(try await probe.nextLine() == #"{"id":9,"cleared":"connections"}"#)
    }

    @Test("requests run concurrently and are answered in the order of their ends")
    func atOnce() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.path == "/1" { for await _ in gate { break } }
            return MockResponse(body: .string(request.path))
        }
        let probe = ProbeDriver()
        for id in 1...5 { await probe.send(#"{"id":\#(id),"url":"\#(server.url("/\(id)"))"}"#) }
        for id in 2...5 { #expect(try await probe.answer(to: id).bodyText == "/\(id)") }
        open.yield()
        #expect(try await probe.answer(to: 1).bodyText == "/1")
        await server.shutdown()
    }

    @Test("finishing waits for the running requests and closes the connections")
    func finish() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(body: "late")
        }
        let probe = ProbeDriver()
        await probe.send(#"{"id":1,"url":"\#(server.url())"}"#)
        try await server.waitForConnections { $0.accepted == 1 }
        open.yield()
        await probe.finish()
        #expect(try await probe.answer(to: 1).bodyText == "late")
        try await server.waitForConnections(open: 0)
        await server.shutdown()
    }
}
