import CurlewTesting
import CurlewWebSockets
import Foundation
import Testing

@Suite("curlew ws", .timeLimit(.minutes(1)))
struct WebSocketCommandTests {
    @Test("lines are sent, messages are printed, and the end of the input closes with 1000")
    func lines() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.ping([1])
            try await socket.echo()
        }
        let process = try CommandProcess(["ws", server.url()], input: "hello\nworld\n")
        #expect(await process.next() == "hello")
        #expect(await process.next() == "world")
        #expect(await process.next() == nil)
        #expect(await process.status() == 0)
        let complaints = try process.complaints()
        #expect(complaints.contains("curlew: open\n"))
        #expect(complaints.contains("sent 2 messages with 10 bytes, received 2 with 10, and 1 pings"))
        #expect(complaints.contains("closed with 1000"))
        await server.shutdown()
    }

    @Test("an interrupt closes with 1000")
    func interrupt() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.send(.text("ready"))
            try await socket.echo()
        }
        let process = try CommandProcess(["ws", server.url()], keepsInput: true)
        #expect(await process.next() == "ready")
        process.interrupt()
        #expect(await process.next() == nil)
        #expect(await process.status() == 0)
        await server.shutdown()
    }

    @Test("a URL may lack its scheme, and a closed pipe ends the command quietly")
    func closedPipe() async throws {
        let server = try await MockWebSocketServer.start { socket in
            while true { try await socket.send(.text("ready")) }
        }
        let folder = try TemporaryFolder()
        let tool = try ToolProcess.tool()
        // The input neither has lines nor ends.
        let script = """
            mkfifo '\(folder.path("input"))'; exec 3<>'\(folder.path("input"))'
            '\(tool)' ws 127.0.0.1:\(server.port) <&3 | head -n 1; echo ${PIPESTATUS[0]}
            """
        let end = await (try ToolProcess(["-c", script], program: "/bin/bash")).end()
        #expect(end.output == "ready\n23\n" && end.complaints == "curlew: open\n", "\(end)")
        await server.shutdown()
    }

    @Test("lines are read as they are sent: the memory does not grow with the input")
    func memory() async throws {
        let line = String(repeating: "a", count: 1023) + "\n"
        let (gates, openGate) = AsyncStream.makeStream(of: Void.self)
        let (marks, mark) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockWebSocketServer.start { socket in
            for number in 0..<5000 {
                _ = try await socket.nextMessage()
                guard number == 0 || number == 4999 else { continue }
                mark.yield()
                for await _ in gates { break }
            }
        }
        let tool = try ToolProcess(["ws", server.url()], input: String(repeating: line, count: 40_000))
        var steps = marks.makeAsyncIterator()
        _ = await steps.next()
        let before = try #require(tool.residentPeak)
        openGate.yield()
        _ = await steps.next()
        let after = try #require(tool.residentPeak)
        openGate.yield()
        #expect(after - before < 16 << 20, "\(before) to \(after)")
        _ = await tool.end()
        await server.shutdown()
    }

    @Test("a close code other than 1000 is a failure, and so is a refusal")
    func failures() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.close(.policyViolation, reason: "no")
            _ = try await socket.receive()
        }
        let process = try CommandProcess(["ws", server.url()], keepsInput: true)
        #expect(await process.status() == 1)
        #expect(try process.complaints().contains("closed with 1008 (policy violation): no"))
        let plain = try await MockServer.start { _ in MockResponse(body: "no WebSocket") }
        let refused = try CommandProcess(["ws", plain.url("/")], keepsInput: true)
        #expect(await refused.status() == 22)
        await server.shutdown()
        await plain.shutdown()
    }
}
