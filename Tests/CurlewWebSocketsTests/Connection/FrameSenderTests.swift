import Curlew
import Testing

@testable import CurlewWebSockets

@Suite("The buffer of sent frames")
struct FrameSenderTests {
    private func frames(_ bytes: [UInt8]) throws -> [MessageEvent] {
        var reader = MessageReader(role: .server)
        var input = ReceiveBuffer()
        var message: [UInt8] = []
        input.fill(with: bytes)
        var events: [MessageEvent] = []
        while let event = try reader.next(in: &input, into: &message) { events.append(event) }
        return events
    }

    @Test("sent bytes are freed while a peer reads slowly and steadily")
    func steadyReader() throws {
        let connection = ScriptedConnection(on: try CurlewEventLoop())
        connection.keepsOutput = false
        var sender = FrameSender(nil, CurlewWebSocket.Options())
        let message = CurlewWebSocket.Message.binary([UInt8](repeating: 7, count: 64 << 10))
        var largest = 0
        for _ in 0..<2000 {
            while sender.count < 64 << 10 {
                try sender.write(message)
                largest = max(largest, sender.capacity)
            }
            connection.room = 30 << 10
            guard case .blocked = sender.flush(to: connection) else {
                Issue.record("the peer has read everything")
                return
            }
        }
        #expect(connection.outputCount == 2000 * (30 << 10))
        #expect(largest <= 512 << 10)
    }

    @Test("a ping is answered before the next message, and at most one pong is unsent")
    func pongs() throws {
        let connection = ScriptedConnection(on: try CurlewEventLoop())
        var sender = FrameSender(nil, CurlewWebSocket.Options())
        connection.room = 0
        try sender.write(.text("a"))
        guard case .blocked = sender.flush(to: connection) else { return }
        sender.answer([1])
        try sender.write(.text("b"))
        for payload in 2..<100 {
            sender.answer([UInt8(payload)])
            _ = sender.flush(to: connection)
        }
        try sender.write(.text("c"))
        let waiting = sender.count
        #expect(waiting < 40)
        connection.room = .max
        guard case .flushed = sender.flush(to: connection) else { return }
        let events = try frames(connection.output)
        #expect(
            events == [
                .begin(.text), .chunk(1), .end, .pong([1]), .begin(.text), .chunk(1), .end, .begin(.text), .chunk(1),
                .end,
                .pong([99]),
            ])
        let isEmpty = sender.isEmpty
        #expect(isEmpty)
    }

    @Test("moved bytes are sent once and in order")
    func order() throws {
        let connection = ScriptedConnection(on: try CurlewEventLoop())
        connection.writeLimit = 7001
        var sender = FrameSender(nil, CurlewWebSocket.Options())
        for index in 0..<100 {
            try sender.write(.binary([UInt8](repeating: UInt8(index), count: 10_000)))
            sender.answer([UInt8(index)])
            connection.room = 9000
            _ = sender.flush(to: connection)
        }
        connection.room = .max
        _ = sender.flush(to: connection)
        var reader = MessageReader(role: .server)
        var input = ReceiveBuffer(capacity: 2 << 20)
        var message: [UInt8] = []
        input.fill(with: connection.output)
        var index = 0
        while let event = try reader.next(in: &input, into: &message) {
            guard event == .end else { continue }
            #expect(message == [UInt8](repeating: UInt8(index), count: 10_000))
            message = []
            index += 1
        }
        #expect(index == 100)
    }
}
