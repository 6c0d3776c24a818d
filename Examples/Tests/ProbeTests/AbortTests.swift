import CurlewTesting
import Testing

@testable import Probe

@Suite("Aborted requests", .timeLimit(.minutes(1)))
struct AbortTests {
    @Test(
        "a request is aborted before its head, whatever JSON value its id is",
        arguments: ["1", #""a""#, "null", "[1,{}]", "1.0"])
    func beforeHead(_ id: String) async throws {
        let server = try await silentServer()
        let probe = ProbeDriver()
        await probe.send(#"{"id":\#(id),"url":"\#(server.url())"}"#)
        try await server.waitForAccepted(1)
        await probe.send(#"{"id":"abort","op":"abort","target":\#(id),"session":"any"}"#)
        let lines = [try await probe.nextLine(), try await probe.nextLine()].sorted { $0.count < $1.count }
        #expect(lines[0] == #"{"id":"abort","aborted":true}"#)
        #expect(lines[1] == #"{"id":\#(id),"error":"the task was cancelled","code":"cancelled"}"#)
        await server.shutdown()
    }

    @Test("an id is compared as a value, not as text")
    func escapedIdentifier() async throws {
        let server = try await silentServer()
        let probe = ProbeDriver()
        await probe.send(#"{"id":"A/","url":"\#(server.url())"}"#)
        try await server.waitForAccepted(1)
        await probe.send(#"{"id":2,"op":"abort","target":"\u0041\/"}"#)
        #expect(try await probe.answer(to: 2)["aborted"] == .bool(true))
        await server.shutdown()
    }

    @Test("a request that is aborted in the body is answered with the bytes received so far")
    func inBody() async throws {
        let size = 32 << 20
        let (sent, tell) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size + 1)\r\n\r\n")
            // The body exceeds the buffers of the sockets: once it is written, the client has the head.
            for _ in 0..<32 { try await connection.write([UInt8](repeating: 0x61, count: 1 << 20)) }
            try await connection.flush()
            tell.yield()
            try await connection.closed
        }
        let probe = ProbeDriver()
        await probe.send(#"{"id":1,"url":"\#(server.url())"}"#)
        for await _ in sent { break }
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        #expect(try await probe.answer(to: 2)["aborted"] == .bool(true))
        let answer = try await probe.answer(to: 1)
        #expect(answer["status"] == .integer(200))
        #expect(answer.code == "cancelled")
        #expect(answer.string("body_error") == "the task was cancelled")
        #expect(try #require(answer.bodyBytes).count > 1 << 20)
        await server.shutdown()
    }

    @Test("an abort of an id that is not running aborts nothing")
    func nothing() async throws {
        let answer = try await ProbeDriver().ask(#"{"id":1,"op":"abort","target":99}"#)
        #expect(answer["aborted"] == .bool(false))
    }

    @Test("an abort sent right after its request still ends the request, and each line is answered once")
    func atOnce() async throws {
        let server = try await silentServer()
        let probe = ProbeDriver()
        for id in 1...100 {
            await probe.send(#"{"id":\#(id),"url":"\#(server.url())"}"#)
            await probe.send(#"{"id":\#(-id),"op":"abort","target":\#(id)}"#)
        }
        for id in 1...100 {
            #expect(try await probe.answer(to: id).code == "cancelled")
            #expect(try await probe.answer(to: -id)["aborted"] == .bool(true))
        }
        await server.shutdown()
    }
}
