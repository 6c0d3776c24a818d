import Curlew
import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("The close of a WebSocket", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketCloseTests {
    @Test("the close code is 1000 after a return, 1011 after an error and 1001 after a cancellation")
    func closure() async throws {
        struct Failure: Error {}
        let stage = try await ClosingStage { try await $0.echo() }
        try await stage.session.webSocket("") { _ in }
        let error = await curlewError { try await stage.session.webSocket("") { _ in throw Failure() } }
        #expect(error?.code == .foreignFailure)
        #expect(error?.underlying is Failure)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await stage.session.webSocket("") { socket in
                start.yield()
                for try await _ in socket.messages {}
            }
        }
        for await _ in started { break }
        task.cancel()
        let cancelled = await curlewError { _ = try await task.value }
        #expect(cancelled?.code == .cancelled)
        await stage.session.shutdown()
        #expect(try await stage.codes(3) == [.normalClosure, .internalError, .goingAway])
    }

    @Test("the peer gets code and reason of a close, and its last messages are delivered")
    func close() async throws {
        let stage = try await ClosingStage { socket in
            while let event = try await socket.receive() {
                guard case .close(let status) = event else { continue }
                try await socket.send(.text("last"))
                try await socket.close(status.code)
                return status
            }
            return nil
        }
        let ending = try await stage.session.webSocket("") { socket in
            try await socket.close(CurlewWebSocket.CloseCode(rawValue: 4001), reason: "bye")
            var texts: [String?] = []
            for try await message in socket.messages { texts.append(message.text) }
            #expect(texts == ["last"])
            let error = await curlewError { try await socket.send(.text("late")) }
            #expect(error?.code == .webSocketClosed)
        }
        #expect(ending.sent?.reason == "bye")
        #expect(ending.code.rawValue == 4001)
        #expect(
            try await stage.statuses() == [
                CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: 4001), reason: "bye")
            ])
        let invalid = await curlewError {
            try await stage.session.webSocket("") { socket in
                try await socket.close(.abnormalClosure)
            }
        }
        #expect(invalid?.code == .invalidRequest)
        await stage.session.shutdown()
    }

    @Test("a close frame of the peer ends the messages, and the ending has its code")
    func closedByPeer() async throws {
        let stage = try await ClosingStage { socket in
            try await socket.send(.text("one"))
            try await socket.close(.serviceRestart, reason: "soon")
            guard case .close(let status) = try await socket.receive() else { return nil }
            return status
        }
        let ending = try await stage.session.webSocket("") { socket in
            var count = 0
            for try await _ in socket.messages { count += 1 }
            #expect(count == 1)
        }
        #expect(ending.cause == .closedByPeer)
        #expect(ending.received == CurlewWebSocket.CloseStatus(.serviceRestart, reason: "soon"))
        #expect(ending.sent?.code == .serviceRestart)
        await stage.session.shutdown()
    }

    @Test("a peer that never closes is abandoned after the close timeout, even in a cancelled task")
    func neverCloses() async throws {
        let (closings, closing) = AsyncStream.makeStream(of: Int.self)
        let count = Guarded(0)
        let stage = try await ClosingStage { socket in
            var status: CurlewWebSocket.CloseStatus?
            while let event = try await socket.receive() {
                guard case .close(let received) = event else { continue }
                status = received
                closing.yield(
                    count.withLock {
                        $0 += 1
                        return $0
                    })
            }
            return status
        }
        let options = CurlewWebSocket.Options(closeTimeout: .milliseconds(300))
        let clock = ContinuousClock()
        var start = clock.now
        let ending = try await stage.session.webSocket("", options: options) { _ in }
        #expect(ending.cause == .timedOut)
        #expect(start.duration(to: clock.now) >= .milliseconds(300))
        start = clock.now
        let task = Task { try await stage.session.webSocket("", options: options) { _ in } }
        // The second close frame has arrived, so its sender waits for the answer.
        for await count in closings where count == 2 { break }
        task.cancel()
        _ = try? await task.value
        #expect(start.duration(to: clock.now) >= .milliseconds(300))
        await stage.session.shutdown()
        #expect(try await stage.codes(2) == [.normalClosure, .normalClosure])
    }

    @Test("a send waits for a peer that never reads, and the close ends at its timeout")
    func neverReads() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockWebSocketServer.start { _ in for await _ in gate {} }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        let error = await curlewError {
            try await session.webSocket("", options: CurlewWebSocket.Options(closeTimeout: .milliseconds(300))) {
                socket in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for _ in 0..<1000 { try await socket.send(.binary([UInt8](repeating: 1, count: 100_000))) }
                    }
                    group.addTask {
                        try await eventually("the sender waits") { await socket.connection.isFull }
                        try await socket.close()
                    }
                    try await group.waitForAll()
                }
            }
        }
        #expect(error?.code == .webSocketFailed || error?.code == .webSocketClosed)
        open.finish()
        await session.shutdown()
        await server.shutdown()
    }

    @Test(
        "messages end without an error after a close, even if the peer resets its connection", arguments: [false, true])
    func endAfterClose(_ isSecure: Bool) async throws {
        let stage = try await WayStage(isSecure ? .tls : .plain) { connection in
            let socket = try await MockWebSocket.accept(connection)
            while let event = try await socket.receive() {
                guard case .close(let status) = event else { continue }
                try await socket.close(status.code)
                break
            }
            if isSecure { await connection.closeWithoutNotify() } else { await connection.reset() }
        }
        let ending = try await stage.session.webSocket("") { socket in
            try await socket.close()
            for try await _ in socket.messages {}
            try await eventually("the connection has ended") { await socket.ending != nil }
            let error = await curlewError { try await socket.send(.text("late")) }
            #expect(error?.code == .webSocketClosed)
        }
        #expect(ending.isClean)
        await stage.session.shutdown()
    }

    @Test("a cancelled message in chunks never arrives as a complete message")
    func cancelledChunks() async throws {
        let events = Guarded<[MockWebSocket.Event]>([])
        let stage = try await ClosingStage { socket in
            while let event = try await socket.receive() {
                events.withLock { $0.append(event) }
                guard case .close(let status) = event else { continue }
                try await socket.close(status.code)
                return status
            }
            return nil
        }
        try await stage.session.webSocket("", options: CurlewWebSocket.Options(pingInterval: nil)) { socket in
            let (chunks, chunk) = AsyncStream.makeStream(of: [UInt8].self)
            let task = Task { try await socket.send(.text, chunks: chunks) }
            chunk.yield(Array("begin".utf8))
            try await eventually("the message has begun") { await socket.connection.isMessageOpen }
            task.cancel()
            let error = await curlewError { try await task.value }
            #expect(error?.code == .cancelled)
        }
        await stage.session.shutdown()
        #expect(try await stage.codes() == [.internalError])
        #expect(events.withLock { $0.count } == 1)
    }

    @Test("an idle WebSocket is closed with 1001")
    func idle() async throws {
        let stage = try await ClosingStage { try await $0.echo() }
        let options = CurlewWebSocket.Options(idleTimeout: .milliseconds(200))
        let ending = try await stage.session.webSocket("", options: options) { socket in
            for try await _ in socket.messages {}
        }
        #expect(ending.sent?.code == .goingAway)
        await stage.session.shutdown()
        #expect(try await stage.codes() == [.goingAway])
    }
}
