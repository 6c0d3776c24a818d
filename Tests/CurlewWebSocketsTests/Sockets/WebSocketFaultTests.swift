import Curlew
import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Faults of a WebSocket's peer", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketFaultTests {
    @Test("each violation of the peer is answered with its close code", arguments: 0..<MockWebSocketFrame.faults.count)
    func faults(_ index: Int) async throws {
        let fault = MockWebSocketFrame.faults[index]
        let stage = try await ClosingStage { socket in
            for frame in fault.frames { try await socket.send(frame) }
            while let event = try await socket.receive() {
                if case .close(let status) = event { return status }
            }
            return nil
        }
        let error = await curlewError {
            try await stage.session.webSocket("") { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .webSocketFailed, "\(fault.name)")
        await stage.session.shutdown()
        #expect(try await stage.codes().map(\.?.rawValue) == [fault.closeCode], "\(fault.name)")
    }

    @Test("a deflate bomb is refused because of its ratio, long before its size")
    func bomb() async throws {
        let compression = CurlewWebSocket.Compression()
        let stage = try await ClosingStage(options: CurlewWebSocket.Options(compression: compression)) { socket in
            try await socket.send(.binary([UInt8](repeating: 0, count: 64 << 20)))
            while let event = try await socket.receive() {
                if case .close(let status) = event { return status }
            }
            return nil
        }
        let error = await curlewError {
            // The size limit would admit the complete message.
            let limits = CurlewWebSocket.Limits(messageSize: .mebibytes(128), frameSize: .mebibytes(128))
            let options = CurlewWebSocket.Options(limits: limits, compression: compression)
            try await stage.session.webSocket("", options: options) { socket in
                var inflated = 0
                defer { #expect(inflated <= 2 << 20) }
                for try await part in socket.parts { inflated += part.bytes.count }
            }
        }
        #expect(error?.code == .webSocketFailed)
        #expect(error?.message.contains("\(CurlewWebSocket.Limits().ratio ?? 0)") == true)
        await stage.session.shutdown()
        #expect(try await stage.codes() == [.messageTooBig])
    }

    @Test("few pongs answer 1,000,000 empty pings, without a growing buffer")
    func pingFlood() async throws {
        let pongs = Guarded(0)
        let stage = try await ClosingStage { socket in
            let ping = MockWebSocketFrame(opcode: 9).bytes
            let many = Array(repeatElement(ping, count: 50_000).joined())
            for _ in 0..<20 { try await socket.write(many) }
            try await socket.send(.text("done"))
            while let event = try await socket.receive() {
                switch event {
                case .pong: pongs.withLock { $0 += 1 }
                case .close(let status):
                    try await socket.close(status.code)
                    return status
                case .message, .ping: break
                }
            }
            return nil
        }
        let ending = try await stage.session.webSocket("", options: CurlewWebSocket.Options(pingInterval: nil)) {
            socket in
            var messages = socket.messages.makeAsyncIterator()
            let message = try await messages.next()
            #expect(message?.text == "done")
            #expect(await socket.connection.sendBufferCapacity <= 64 << 10)
        }
        #expect(pongs.withLock { $0 } >= 1)
        #expect(pongs.withLock { $0 } < 10_000)
        #expect(ending.isClean)
        await stage.session.shutdown()
    }

    @Test("a silent peer gets pings, and is abandoned without a pong")
    func health() async throws {
        let stage = try await ClosingStage { socket in
            var pings = 0
            while let event = try await socket.receive() {
                guard case .ping(let payload) = event else { continue }
                pings += 1
                if pings <= 2 { try await socket.pong(payload) }
            }
            #expect(pings == 3)
            return nil
        }
        let error = await curlewError {
            try await stage.session.webSocket(
                "", options: CurlewWebSocket.Options(pingInterval: .milliseconds(100), pongTimeout: .milliseconds(200))
            ) { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .idleTimeout)
        #expect(error?.message == "the peer did not answer a ping within 200 ms")
        await stage.session.shutdown()
    }

    @Test(
        "messages are delivered before the error of an end without a close frame",
        arguments: [false, true])
    func halfClose(_ isSecure: Bool) async throws {
        let stage = try await WayStage(isSecure ? .tls : .plain) { connection in
            let socket = try await MockWebSocket.accept(connection)
            try await socket.send(.text("last"))
            try await connection.halfClose()
            try await connection.drain()
        }
        var texts: [String?] = []
        let error = await curlewError {
            try await stage.session.webSocket("") { socket in
                for try await message in socket.messages { texts.append(message.text) }
            }
        }
        #expect(error?.code == .connectionLost)
        #expect(texts == ["last"])
        await stage.session.shutdown()
    }

    @Test("a reset connection without a close frame is a lost connection")
    func lost() async throws {
        let stage = try await ClosingStage { socket in
            _ = try await socket.receive()
            await socket.connection?.reset()
            return nil
        }
        let error = await curlewError {
            try await stage.session.webSocket("") { socket in
                try await socket.send(.text("x"))
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .connectionLost)
        await stage.session.shutdown()
    }
}
