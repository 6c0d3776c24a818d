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
