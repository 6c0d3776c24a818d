import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewWebSockets

@Suite("A WebSocket over a scripted connection", .serialized, .timeLimit(.minutes(1)))
struct ScriptedSocketTests {
    @Test("the peer's messages and close frame are delivered after a failed write")
    func failedWrite() async throws {
        let scripted = try await ScriptedSocket()
        await scripted.onLoop { connection in
            connection.writeError = CurlewError(.connectionLost, "broken pipe")
            connection.isEnded = true
            connection.input =
                PlainFrame.text("one").bytes + PlainFrame.text("two").bytes + PlainFrame.close(1008, "no").bytes
            connection.isHidden = true
        }
        try await scripted.socket.send(.text("x"))
        // The message is handed over, and the loop finds that it cannot be written.
        await scripted.onLoop { _ in }
        let late = await curlewError { try await scripted.socket.send(.text("x")) }
        #expect(late?.code == .connectionLost)
        await scripted.onLoop { connection in
            connection.isHidden = false
            connection.wake()
        }
        var texts: [String] = []
        while let part = try await scripted.next() { texts.append(String(decoding: part.bytes, as: UTF8.self)) }
        #expect(texts == ["one", "two"])
        let ending = await scripted.socket.ending
        #expect(ending?.cause == .closedByPeer)
        #expect(ending?.code == .policyViolation)
        #expect(ending?.sent == nil)
        #expect(await scripted.onLoop { $0.isClosed && $0.failure == nil })
    }

    @Test("a failed write ends the WebSocket within the close timeout, even if the peer keeps its side open")
    func failedWriteWithoutEnd() async throws {
        let scripted = try await ScriptedSocket(.init(pingInterval: nil, closeTimeout: .milliseconds(50)))
        await scripted.onLoop { $0.writeError = CurlewError(.connectionLost, "broken pipe") }
        _ = try? await scripted.socket.send(.text("x"))
        let error = await curlewError { _ = try await scripted.next() }
        #expect(error?.code == .connectionLost)
        #expect(await scripted.onLoop { $0.failure?.code } == .connectionLost)
    }

    @Test("a close frame that cannot be sent ends the WebSocket and its timers")
    func failedClose() async throws {
        let scripted = try await ScriptedSocket()
        await scripted.onLoop { connection in
            connection.writeError = CurlewError(.connectionLost, "broken pipe")
            connection.input = PlainFrame.close(1000).bytes
            connection.wake()
        }
        #expect(try await scripted.next() == nil)
        #expect(await scripted.socket.ending?.cause == .closedByPeer)
        let loop = scripted.loop
        #expect(await scripted.onLoop { _ in loop.core.timers.isEmpty })
    }

    @Test("an end of the connection after both close frames is a success", arguments: [true, false])
    func cleanClose(_ isReset: Bool) async throws {
        let scripted = try await ScriptedSocket()
        await scripted.socket.close(.normalClosure)
        await scripted.onLoop { connection in
            connection.input = PlainFrame.text("last").bytes + PlainFrame.close(1000).bytes
            if isReset {
                connection.readError = CurlewError(.connectionLost, "reset")
            } else {
                connection.isEnded = true
            }
            connection.wake()
        }
        #expect(try await scripted.next()?.bytes == Array("last".utf8))
        #expect(try await scripted.next() == nil)
        let late = await curlewError { try await scripted.socket.send(.text("x")) }
        #expect(late?.code == .webSocketClosed)
        #expect(await scripted.socket.ending?.cause == .closedLocally)
        #expect(await scripted.onLoop { $0.isClosed && $0.failure == nil })
    }

    @Test("endless pings of a peer do not block the loop, and take few writes and little memory")
    func endlessPings() async throws {
        let scripted = try await ScriptedSocket(.init(pingInterval: nil, closeTimeout: .milliseconds(200)))
        let pings = [UInt8](PlainFrame(9).bytes.lazy.map { $0 })
        await scripted.onLoop { connection in
            connection.keepsOutput = false
            connection.endlessInput = Array(repeatElement(pings, count: 32 << 10).joined())
            connection.wake()
        }
        // Other work of the loop runs between two turns.
        for _ in 0..<50 { await scripted.onLoop { _ in } }
        let (writes, pongs, bytes) = await scripted.onLoop { ($0.writes, $0.outputCount, $0.inputCount) }
        // Each turn has at most one write, and the number of turns is small.
        #expect(writes < 10_000)
        #expect(pongs == 6 * writes)
        // A turn reads a mebibyte, and at most one buffer more.
        #expect(writes > 0 && bytes <= (writes + 1) * (2 << 20))
        #expect(await scripted.socket.sendBufferCapacity <= 64 << 10)
        // The closing handshake has its timeout, although the socket is never empty.
        let start = ContinuousClock.now
        let ending = await scripted.socket.end(.normalClosure)
        #expect(ending.cause == .timedOut)
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test("messages after a close are neither validated nor kept")
    func discarded() async throws {
        let scripted = try await ScriptedSocket(.init(pingInterval: nil))
        let message = PlainFrame(1, [0xFF, 0xFE]).bytes
        await scripted.onLoop { connection in
            // Text that is not UTF-8 would be a violation if it were validated.
            connection.input = message + PlainFrame.close(1000).bytes
            connection.isEnded = true
        }
        let ending = await scripted.socket.end(.normalClosure)
        #expect(ending.cause == .closedLocally)
    }

    @Test("a ping is answered after the client's close frame, but not once the peer's has arrived")
    func pingAfterClose() async throws {
        let scripted = try await ScriptedSocket()
        await scripted.socket.close(.normalClosure)
        let before = await scripted.onLoop { $0.outputCount }
        await scripted.onLoop { connection in
            connection.input = PlainFrame(9, [1, 2]).bytes
            connection.wake()
        }
        #expect(await scripted.onLoop { $0.outputCount } == before + 8)
        await scripted.onLoop { connection in
            connection.input = PlainFrame(9, [3]).bytes + PlainFrame.close(1000).bytes
            connection.isEnded = true
            connection.wake()
        }
        #expect(await scripted.onLoop { $0.outputCount } == before + 8)
        #expect(await scripted.socket.ending?.isClean == true)
    }

    @Test("cancelled pings take no memory while the peer does not read")
    func cancelledPings() async throws {
        let scripted = try await ScriptedSocket()
        await scripted.onLoop { $0.room = 0 }
        while await !scripted.socket.isFull {
            try await scripted.socket.send(.binary([UInt8](repeating: 0, count: 1000)))
        }
        let before = await scripted.socket.queuedBytes
        for _ in 0..<1000 {
            let ping = Task { try await scripted.socket.ping() }
            ping.cancel()
            let error = await curlewError { _ = try await ping.value }
            #expect(error?.code == .cancelled)
        }
        #expect(await scripted.socket.queuedBytes == before)
    }

    @Test("a cancelled message that has begun waits at most for the close timeout")
    func cancelledMessage() async throws {
        let scripted = try await ScriptedSocket(.init(pingInterval: nil, closeTimeout: .milliseconds(50)))
        await scripted.onLoop { $0.room = 100_000 }
        let task = Task { try await scripted.socket.send(.binary([UInt8](repeating: 0, count: 10 << 20))) }
        try await eventually("the message waits") { await scripted.socket.isFull }
        task.cancel()
        let error = await curlewError { try await task.value }
        #expect(error?.code == .cancelled)
        try await eventually("the WebSocket is closed") { await scripted.socket.ending != nil }
        #expect(await scripted.socket.ending?.sent?.code == .internalError)
    }

    @Test("a cancelled message that has begun is sent completely if the peer reads")
    func finishedMessage() async throws {
        let scripted = try await ScriptedSocket()
        await scripted.onLoop { $0.room = 100_000 }
        let task = Task { try await scripted.socket.send(.binary([UInt8](repeating: 0, count: 10 << 20))) }
        try await eventually("the message waits") { await scripted.socket.isFull }
        task.cancel()
        await scripted.onLoop { connection in
            connection.keepsOutput = false
            connection.room = .max
            connection.wake()
        }
        try await task.value
        #expect(await scripted.socket.ending == nil)
        #expect(await scripted.onLoop { $0.outputCount } > 10 << 20)
    }

    @Test("a message that is cancelled before its turn is not sent")
    func cancelledBefore() async throws {
        let scripted = try await ScriptedSocket()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await scripted.socket.send(.text("never"))
        }
        task.cancel()
        let error = await curlewError { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(await scripted.onLoop { $0.writes } == 0)
    }

    @Test("messages of a task are sent in their order, before its close frame, whether or not they wait for their turn")
    func order() async throws {
        let scripted = try await ScriptedSocket(.init(fragmentSize: 100, pingInterval: nil))
        for index in 0..<50 {
            let size = index % 5 == 0 ? 150 : 10
            try await scripted.socket.send(.binary([UInt8](repeating: UInt8(index), count: size)))
        }
        await scripted.socket.close(.normalClosure)
        let frames = PlainFrame.all(in: await scripted.onLoop { $0.output }) ?? []
        #expect(frames.last?.opcode == 8)
        #expect(frames.dropLast().filter(\.isFinal).map { $0.payload.first } == (0..<50).map { UInt8($0) })
    }

    @Test("a message is refused once the WebSocket is closed, and the messages before it are sent")
    func sendAfterClose() async throws {
        let scripted = try await ScriptedSocket()
        try await scripted.socket.send(.text("first"))
        await scripted.socket.close(.normalClosure)
        let error = await curlewError { try await scripted.socket.send(.text("late")) }
        #expect(error?.code == .webSocketClosed)
        #expect(await scripted.socket.figures.sentMessages == 1)
        let frames = PlainFrame.all(in: await scripted.onLoop { $0.output }) ?? []
        #expect(frames.map(\.opcode) == [1, 8])
    }

    @Test("senders wait once the send buffer is full, and no message is lost")
    func fullBuffer() async throws {
        let scripted = try await ScriptedSocket(.init(sendBufferSize: 1000, pingInterval: nil))
        await scripted.onLoop { $0.room = 0 }
        let senders = Task {
            for index in 0..<100 {
                try await scripted.socket.send(.binary([UInt8](repeating: UInt8(index), count: 100)))
            }
        }
        try await eventually("the sender waits") { await scripted.socket.isFull }
        // The buffer holds its size and one message more, with their headers.
        #expect(await scripted.socket.queuedBytes <= 1000 + 2 * 106)
        await scripted.onLoop { connection in
            connection.room = .max
            connection.wake()
        }
        try await senders.value
        #expect(await scripted.socket.figures.sentMessages == 100)
        let frames = PlainFrame.all(in: await scripted.onLoop { $0.output }) ?? []
        #expect(frames.map { $0.payload.first } == (0..<100).map { UInt8($0) })
    }
}
