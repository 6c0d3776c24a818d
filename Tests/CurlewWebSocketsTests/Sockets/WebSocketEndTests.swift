import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import Curlew
@testable import CurlewWebSockets

@Suite("The end of a WebSocket", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketEndTests {
    /// A server that records the client's close frame, and a session.
    private func stage(
        _ handler: @escaping @Sendable (MockWebSocket) async throws -> CurlewWebSocket.CloseStatus?
    ) async throws -> (
        session: HTTPSession, closes: Guarded<[CurlewWebSocket.CloseStatus?]>, server: MockWebSocketServer
    ) {
        let closes = Guarded<[CurlewWebSocket.CloseStatus?]>([])
        let server = try await MockWebSocketServer.start { socket in
            let status = try await handler(socket)
            closes.withLock { $0.append(status) }
        }
        return (try makeSession(baseURL: "http://127.0.0.1:\(server.port)/"), closes, server)
    }

    /// The close codes that the server received, when it has a number of them.
    private func codes(_ closes: Guarded<[CurlewWebSocket.CloseStatus?]>, count: Int = 1) async throws
        -> [CurlewWebSocket.CloseCode?]
    {
        try await eventually("the server has seen \(count) ends") { closes.withLock { $0.count } == count }
        return closes.withLock { $0.map(\.?.code) }
    }

    @Test("the close code is 1000 after a return, 1011 after an error and 1001 after a cancellation")
    func closure() async throws {
        struct Failure: Error {}
        let (session, closes, _) = try await stage { try await $0.echo() }
        try await session.webSocket("") { _ in }
        let error = await curlewError { try await session.webSocket("") { _ in throw Failure() } }
        #expect(error?.code == .foreignFailure)
        #expect(error?.underlying is Failure)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await session.webSocket("") { socket in
                start.yield()
                for try await _ in socket.messages {}
            }
        }
        for await _ in started { break }
        task.cancel()
        let cancelled = await curlewError { _ = try await task.value }
        #expect(cancelled?.code == .cancelled)
        await session.shutdown()
        #expect(try await codes(closes, count: 3) == [.normalClosure, .internalError, .goingAway])
    }

    @Test("the peer gets code and reason of a close, and its last messages are delivered")
    func close() async throws {
        let (session, closes, _) = try await stage { socket in
            while let event = try await socket.receive() {
                guard case .close(let status) = event else { continue }
                try await socket.send(.text("last"))
                try await socket.close(status.code)
                return status
            }
            return nil
        }
        let ending = try await session.webSocket("") { socket in
            try await socket.close(CurlewWebSocket.CloseCode(rawValue: 4001), reason: "bye")
            var texts: [String?] = []
            for try await message in socket.messages { texts.append(message.text) }
            #expect(texts == ["last"])
            let error = await curlewError { try await socket.send(.text("late")) }
            #expect(error?.code == .webSocketClosed)
        }
        #expect(ending.sent?.reason == "bye")
        #expect(ending.code.rawValue == 4001)
        _ = try await codes(closes)
        #expect(
            closes.withLock { $0 } == [
                CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: 4001), reason: "bye")
            ])
        let invalid = await curlewError {
            try await session.webSocket("") { socket in
                try await socket.close(.abnormalClosure)
            }
        }
        #expect(invalid?.code == .invalidRequest)
        await session.shutdown()
    }

    @Test("a close frame of the peer ends the messages, and the ending has its code")
    func closedByPeer() async throws {
        let (session, _, _) = try await stage { socket in
            try await socket.send(.text("one"))
            try await socket.close(.serviceRestart, reason: "soon")
            guard case .close(let status) = try await socket.receive() else { return nil }
            return status
        }
        let ending = try await session.webSocket("") { socket in
            var count = 0
            for try await _ in socket.messages { count += 1 }
            #expect(count == 1)
        }
        #expect(ending.cause == .closedByPeer)
        #expect(ending.received == CurlewWebSocket.CloseStatus(.serviceRestart, reason: "soon"))
        #expect(ending.sent?.code == .serviceRestart)
        await session.shutdown()
    }

    @Test("a peer that never closes is abandoned after the close timeout, even in a cancelled task")
    func neverCloses() async throws {
        let (closings, closing) = AsyncStream.makeStream(of: Int.self)
        let count = Guarded(0)
        let (session, closes, _) = try await stage { socket in
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
        let clock = ContinuousClock()
        var start = clock.now
        let ending = try await session.webSocket("", options: CurlewWebSocket.Options(closeTimeout: .milliseconds(300)))
        { _ in
        }
        #expect(ending.cause == .timedOut)
        #expect(start.duration(to: clock.now) >= .milliseconds(300))
        start = clock.now
        let task = Task {
            try await session.webSocket("", options: CurlewWebSocket.Options(closeTimeout: .milliseconds(300))) { _ in }
        }
        // The second close frame has arrived, so its sender waits for the answer.
        for await count in closings where count == 2 { break }
        task.cancel()
        _ = try? await task.value
        #expect(start.duration(to: clock.now) >= .milliseconds(300))
        await session.shutdown()
        #expect(try await codes(closes, count: 2) == [.normalClosure, .normalClosure])
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

    @Test("each violation of the peer is answered with its close code", arguments: 0..<MockWebSocketFrame.faults.count)
    func faults(_ index: Int) async throws {
        let fault = MockWebSocketFrame.faults[index]
        let (session, closes, _) = try await stage { socket in
            for frame in fault.frames { try await socket.send(frame) }
            while let event = try await socket.receive() {
                if case .close(let status) = event { return status }
            }
            return nil
        }
        let error = await curlewError {
            try await session.webSocket("") { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .webSocketFailed, "\(fault.name)")
        await session.shutdown()
        #expect(try await codes(closes).map(\.?.rawValue) == [fault.closeCode], "\(fault.name)")
    }

    @Test("a deflate bomb is refused because of its ratio, long before its size")
    func bomb() async throws {
        let compression = CurlewWebSocket.Compression()
        let closes = Guarded<[CurlewWebSocket.CloseStatus?]>([])
        let server = try await MockWebSocketServer.start(options: CurlewWebSocket.Options(compression: compression)) {
            socket in
            try await socket.send(.binary([UInt8](repeating: 0, count: 64 << 20)))
            while let event = try await socket.receive() {
                guard case .close(let status) = event else { continue }
                closes.withLock { $0.append(status) }
                return
            }
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        let error = await curlewError {
            // The size limit would admit the complete message.
            let limits = CurlewWebSocket.Limits(messageSize: .mebibytes(128), frameSize: .mebibytes(128))
            let options = CurlewWebSocket.Options(limits: limits, compression: compression)
            try await session.webSocket("", options: options) { socket in
                var inflated = 0
                defer { #expect(inflated <= 2 << 20) }
                for try await part in socket.parts { inflated += part.bytes.count }
            }
        }
        #expect(error?.code == .webSocketFailed)
        #expect(error?.message.contains("\(CurlewWebSocket.Limits().ratio ?? 0)") == true)
        await session.shutdown()
        #expect(try await codes(closes) == [.messageTooBig])
    }

    @Test("few pongs answer 1,000,000 empty pings, without a growing buffer")
    func pingFlood() async throws {
        let pongs = Guarded(0)
        let (session, _, _) = try await stage { socket in
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
        let ending = try await session.webSocket("", options: CurlewWebSocket.Options(pingInterval: nil)) { socket in
            var messages = socket.messages.makeAsyncIterator()
            let message = try await messages.next()
            #expect(message?.text == "done")
            #expect(await socket.connection.sendBufferCapacity <= 64 << 10)
        }
        #expect(pongs.withLock { $0 } >= 1)
        #expect(pongs.withLock { $0 } < 10_000)
        #expect(ending.isClean)
        await session.shutdown()
    }

    @Test("a silent peer gets pings, and is abandoned without a pong")
    func health() async throws {
        let (session, _, _) = try await stage { socket in
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
            try await session.webSocket(
                "", options: CurlewWebSocket.Options(pingInterval: .milliseconds(100), pongPatience: .milliseconds(200))
            ) { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .idleTimeout)
        await session.shutdown()
    }

    @Test("an idle WebSocket is closed with 1001")
    func idle() async throws {
        let (session, closes, _) = try await stage { try await $0.echo() }
        let ending = try await session.webSocket("", options: CurlewWebSocket.Options(idleTimeout: .milliseconds(200)))
        {
            socket in
            for try await _ in socket.messages {}
        }
        #expect(ending.sent?.code == .goingAway)
        await session.shutdown()
        #expect(try await codes(closes) == [.goingAway])
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

    @Test("an event of the session reports the end, with the response of the handshake")
    func event() async throws {
        let (session, _, _) = try await stage { try await $0.echo() }
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        let ending = try await session.webSocket("") { _ in }
        #expect(ending.isClean)
        var last = await events.next()
        while let event = last, event.kind != .completed { last = await events.next() }
        #expect(last?.response?.status == .switchingProtocols)
        #expect(last?.error == nil)
        await session.shutdown()
    }

    @Test("the event of a failed WebSocket has its error", arguments: [true, false])
    func failedEvent(_ isRefused: Bool) async throws {
        let server = try await RawServer.start { connection in
            let socket = try await MockWebSocket.accept(connection) { response in
                if isRefused { response.headerFields[.secWebSocketAccept] = "AAAA" }
            }
            if !isRefused { try await socket.send(MockWebSocketFrame(opcode: 3)) }
            try await connection.drain()
        }
        let session = try makeSession(baseURL: server.url())
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        let error = await curlewError {
            try await session.webSocket("") { socket in
                for try await _ in socket.messages {}
            }
        }
        var last = await events.next()
        while let event = last, event.kind != .completed { last = await events.next() }
        #expect(last?.error?.code == error?.code)
        #expect(error?.code == (isRefused ? .webSocketHandshakeFailed : .webSocketFailed))
        await session.shutdown()
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
        let (session, closes, _) = try await stage { socket in
            while let event = try await socket.receive() {
                events.withLock { $0.append(event) }
                guard case .close(let status) = event else { continue }
                try await socket.close(status.code)
                return status
            }
            return nil
        }
        try await session.webSocket("", options: CurlewWebSocket.Options(pingInterval: nil)) { socket in
            let (chunks, chunk) = AsyncStream.makeStream(of: [UInt8].self)
            let task = Task { try await socket.send(.text, chunks: chunks) }
            chunk.yield(Array("begin".utf8))
            try await eventually("the message has begun") { await socket.connection.isMessageOpen }
            task.cancel()
            let error = await curlewError { try await task.value }
            #expect(error?.code == .cancelled)
        }
        await session.shutdown()
        #expect(try await codes(closes) == [.internalError])
        #expect(events.withLock { $0.count } == 1)
    }

    @Test("a reset connection without a close frame is a lost connection")
    func lost() async throws {
        let (session, _, _) = try await stage { socket in
            _ = try await socket.receive()
            await socket.connection?.reset()
            return nil
        }
        let error = await curlewError {
            try await session.webSocket("") { socket in
                try await socket.send(.text("x"))
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .connectionLost)
        await session.shutdown()
    }

    @Test("a shutdown of the session closes with 1001 and waits until its deadline", arguments: [true, false])
    func shutdown(_ closes: Bool) async throws {
        let (session, statuses, _) = try await stage { socket in
            if closes { return try await socket.echo() }
            var status: CurlewWebSocket.CloseStatus?
            while let event = try await socket.receive() {
                if case .close(let received) = event { status = received }
            }
            return status
        }
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await session.webSocket("") { socket in
                start.yield()
                for try await _ in socket.messages {}
            }
        }
        for await _ in started { break }
        await session.shutdown(deadline: .milliseconds(300))
        if closes {
            let ending = try await task.value
            #expect(ending.isClean)
            #expect(ending.sent?.code == .goingAway)
        } else {
            let error = await curlewError { _ = try await task.value }
            #expect(error?.code == .sessionInvalidated)
        }
        #expect(try await codes(statuses) == [.goingAway])
    }

    @Test("a cancellation of the exchange ends the WebSocket with a last close frame")
    func cancelledTask() async throws {
        let (session, closes, _) = try await stage { try await $0.echo() }
        let error = await curlewError {
            try await session.webSocket("") { socket in
                socket.response.task?.cancel()
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .cancelled)
        await session.shutdown()
        #expect(try await codes(closes) == [.goingAway])
    }
}
