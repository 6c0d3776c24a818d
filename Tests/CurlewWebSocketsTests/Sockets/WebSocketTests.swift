import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers
@testable import CurlewWebSockets

@Suite("A WebSocket over a socket", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketTests {
    @Test("messages of every size are echoed unchanged", arguments: [false, true], [Way.plain, .tls])
    func echo(_ isCompressed: Bool, _ way: Way) async throws {
        // The messages are very regular, so their ratio is high.
        let options = CurlewWebSocket.Options(
            limits: CurlewWebSocket.Limits(ratio: nil), compression: isCompressed ? CurlewWebSocket.Compression() : nil)
        let stage = try await WayStage(way) { connection in
            try await MockWebSocket.accept(connection, options: options).echo()
        }
        let ending = try await stage.session.webSocket("echo", options: options) { socket in
            #expect(socket.isCompressed == isCompressed)
            var messages = socket.messages.makeAsyncIterator()
            for size in [0, 1, 125, 126, 65535, 65536, 65537, 300_000, 2_000_000] {
                let text = CurlewWebSocket.Message.text(String(repeating: "ä", count: size / 2))
                let binary = CurlewWebSocket.Message.binary((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                for message in [text, binary] {
                    try await socket.send(message)
                    let answer = try await messages.next()
                    #expect(answer == message)
                }
            }
        }
        #expect(ending.cause == .closedLocally)
        #expect(ending.code == .normalClosure)
        #expect(ending.isClean)
        await stage.session.shutdown()
    }

    @Test("a WebSocket opens over every route", arguments: Way.all)
    func ways(_ way: Way) async throws {
        let stage = try await WayStage(way) { connection in try await MockWebSocket.accept(connection).echo() }
        let ending = try await stage.session.webSocket("chat") { socket in
            try await socket.send(.text("hello"))
            var messages = socket.messages.makeAsyncIterator()
            let message = try await messages.next()
            #expect(message?.text == "hello")
        }
        #expect(ending.isClean)
        await stage.session.shutdown()
    }

    @Test("ws and wss stand for http and https")
    func schemes() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        #expect(server.url().hasPrefix("ws://"))
        let session = try makeSession()
        for url in [server.url(), server.url().replacing("ws:", with: "WS:")] {
            let ending = try await session.webSocket(.raw(url)) { _ in }
            #expect(ending.isClean)
        }
        await session.shutdown()
    }

    @Test("subprotocols are negotiated")
    func subprotocols() async throws {
        let server = try await MockWebSocketServer.start(protocols: ["chat.v2", "chat"]) { socket in
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("", protocols: ["chat", "chat.v2"]) { socket in
            #expect(socket.subprotocol == "chat.v2")
        }
        try await session.webSocket("") { socket in #expect(socket.subprotocol == nil) }
        await session.shutdown()
    }

    @Test("values are sent and received in the session's dialect of JSON")
    func json() async throws {
        struct Order: Codable, Equatable { var orderNumber = 7 }
        let server = try await MockWebSocketServer.start { socket in
            let message = try await socket.nextMessage()
            #expect(message?.text == #"{"order_number":7}"#)
            try await socket.send(.text(#"{"order_number":8}"#))
            try await socket.send(.binary(Array(#"{"order_number":9}"#.utf8)))
            try await socket.send(.text("no"))
            try await socket.echo()
        }
        var session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        session.json = JSONCoding(keys: .snakeCase)
        try await session.webSocket("") { socket in
            try await socket.send(json: Order())
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next()?.json(as: Order.self) == Order(orderNumber: 8))
            #expect(try await messages.next()?.json(as: Order.self) == Order(orderNumber: 9))
            let bad = try await messages.next()
            let error = await curlewError { _ = try bad?.json(as: Order.self) }
            #expect(error?.code == .decodingFailed)
        }
        await session.shutdown()
    }

    @Test("a large message is sent in chunks and received in parts")
    func parts() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { socket in
            let chunks = AsyncStream<[UInt8]> { continuation in
                for index in 0..<20 { continuation.yield([UInt8](repeating: UInt8(index), count: 100_000)) }
                continuation.finish()
            }
            async let sent: Void = socket.send(.binary, chunks: chunks)
            var size = 0
            var count = 0
            for try await part in socket.parts {
                #expect(part.isFirst == (count == 0))
                size += part.bytes.count
                count += 1
                if part.isLast { break }
            }
            try await sent
            #expect(size == 2_000_000)
            #expect(count > 20)
            // A reader of complete messages continues after a reader of parts.
            try await socket.send(.text("whole"))
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next()?.text == "whole")
        }
        await session.shutdown()
    }

    @Test("messages of several senders do not mix")
    func senders() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("", options: CurlewWebSocket.Options(fragmentSize: 1000)) { socket in
            let sending = Task { try await sendFromMany(over: socket) }
            let counts = try await countMessages(of: socket)
            #expect(counts == [Int](repeating: 10, count: 10))
            try await sending.value
        }
        await session.shutdown()
    }

    private func countMessages(of socket: CurlewWebSocket) async throws -> [Int] {
        var counts = [Int](repeating: 0, count: 10)
        for try await message in socket.messages {
            #expect(message.bytes.count == 9000)
            #expect(Set(message.bytes).count == 1)
            counts[Int(message.bytes[0])] += 1
            if counts.reduce(0, +) == 100 { break }
        }
        return counts
    }

    private func sendFromMany(over socket: CurlewWebSocket) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<10 {
                group.addTask {
                    for _ in 0..<10 { try await socket.send(.binary([UInt8](repeating: UInt8(sender), count: 9000))) }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("a ping of the peer is answered, and a ping of the client waits for its pong")
    func pings() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.ping([1, 2, 3])
            // The client's own ping may arrive first.
            var event = try await socket.receive()
            while case .ping(let payload) = event {
                try await socket.pong(payload)
                event = try await socket.receive()
            }
            #expect(event == .pong([1, 2, 3]))
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { socket in
            let time = try await socket.ping()
            #expect(time > .zero)
        }
        await session.shutdown()
    }

    @Test("the socket is not read while its reader waits, and no message is lost")
    func backPressure() async throws {
        let total = 400
        let sent = Guarded(0)
        let server = try await MockWebSocketServer.start { socket in
            for index in 0..<total {
                try await socket.send(.binary([UInt8](repeating: UInt8(index & 0xFF), count: 100_000)))
                sent.withLock { $0 = index + 1 }
            }
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { socket in
            try await eventually("the socket is not read") { await socket.connection.isReadingPaused }
            // The unsent messages do not fit into the buffers of the system.
            #expect(sent.withLock { $0 } < total)
            #expect(socket.connection.inbox.size < 300_000)
            var count = 0
            for try await message in socket.messages {
                #expect(message.bytes.first == UInt8(count & 0xFF))
                count += 1
                if count == total { break }
            }
        }
        await session.shutdown()
    }

    @Test("parts of compressed messages arrive complete and in order with a slow reader beside other WebSockets")
    func compressedParts() async throws {
        let compression = CurlewWebSocket.Compression()
        let words = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7 & 15) }
        let server = try await MockWebSocketServer.start(options: CurlewWebSocket.Options(compression: compression)) {
            socket in
            for _ in 0..<5 { try await socket.send(.binary(words)) }
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        let options = CurlewWebSocket.Options(
            limits: CurlewWebSocket.Limits(ratio: nil), compression: compression, receiveBufferSize: 1000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await session.webSocket("", options: options) { socket in
                        var received: [UInt8] = []
                        var count = 0
                        for try await part in socket.parts {
                            received += part.bytes
                            guard part.isLast else { continue }
                            #expect(received == words)
                            received = []
                            count += 1
                            if count == 5 { break }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
    }

    @Test("a message is skipped after a reader of parts stopped in its middle")
    func leftParts() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockWebSocketServer.start { socket in
            try await socket.send(MockWebSocketFrame(opcode: 1, Array("first".utf8), isFinal: false))
            for await _ in gate { break }
            try await socket.send(MockWebSocketFrame(opcode: 0, Array("second".utf8)))
            try await socket.send(.text("whole"))
            try await socket.send(MockWebSocketFrame(opcode: 1, Array("a".utf8), isFinal: false))
            for await _ in gate { break }
            try await socket.send(MockWebSocketFrame(opcode: 0, Array("b".utf8)))
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { socket in
            for try await part in socket.parts {
                #expect(part.bytes == Array("first".utf8))
                break
            }
            open.yield()
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next()?.text == "whole")
            // A cancelled reader leaves its part to the next reader.
            let cancelled = Task { for try await _ in socket.messages {} }
            try await eventually("the part is taken") { socket.connection.inbox.hasCollected }
            cancelled.cancel()
            _ = await cancelled.result
            open.yield()
            #expect(try await messages.next()?.text == "ab")
        }
        await session.shutdown()
    }

    @Test("buffered frames for a TLS peer may move in memory")
    func movedWrites() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let received = Guarded(0)
        let stage = try await WayStage(.tls) { connection in
            let socket = try await MockWebSocket.accept(connection)
            for await _ in gate { break }
            while let event = try await socket.receive() {
                switch event {
                case .message(let message): received.withLock { $0 += message.bytes.count }
                case .close(let status): return try await socket.close(status.code)
                default: break
                }
            }
        }
        var sent = 0
        let options = CurlewWebSocket.Options(sendBufferSize: .mebibytes(1), pingInterval: nil)
        try await stage.session.webSocket("", options: options) { socket in
            // The system first accepts some megabytes.
            while await socket.connection.queuedBytes == 0 {
                try await socket.send(.binary([UInt8](repeating: 1, count: 10_000)))
                sent += 10_000
            }
            // Each message is appended to bytes that TLS has begun to send.
            for count in 0..<200 {
                try await socket.send(.binary([UInt8](repeating: 2, count: count * 10)))
                sent += count * 10
            }
            open.yield()
        }
        #expect(received.withLock { $0 } == sent)
        await stage.session.shutdown()
    }

    @Test("the figures of a WebSocket count its messages, their bytes and pings")
    func figures() async throws {
        let server = try await MockWebSocketServer.start { socket in
            try await socket.ping()
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        let options = CurlewWebSocket.Options(fragmentSize: 1000, pingInterval: nil)
        try await session.webSocket("", options: options) { socket in
            var messages = socket.messages.makeAsyncIterator()
            for size in [0, 10, 5000] {
                try await socket.send(.binary([UInt8](repeating: 1, count: size)))
                _ = try await messages.next()
            }
            try await socket.ping()
            let figures = await socket.figures
            #expect(figures.sentMessages == 3)
            #expect(figures.sentBytes == 5010)
            #expect(figures.receivedMessages == 3)
            #expect(figures.receivedBytes == 5010)
            #expect(figures.sentPings == 1)
            #expect(figures.receivedPings == 1)
        }
        await session.shutdown()
    }

    @Test("open WebSockets do not keep a loop awake")
    func activeCount() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { first in
            try await session.webSocket("") { _ in
                let loop = first.connection.loop
                #expect(await count(on: loop) == 0)
                #expect(await session.session?.figures().upgradedConnections == 2)
            }
        }
        await session.shutdown()
    }

    private func count(on loop: CurlewEventLoop) async -> Int {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: loop.core.activeCount) }
        }
    }

    @Test("a new iterator of messages loses no message")
    func reentry() async throws {
        let server = try await MockWebSocketServer.start { socket in
            for index in 0..<10 { try await socket.send(.text("\(index)")) }
            try await socket.echo()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        try await session.webSocket("") { socket in
            var texts: [String] = []
            for _ in 0..<5 {
                var count = 0
                for try await message in socket.messages {
                    texts.append(message.text ?? "")
                    count += 1
                    if count == 2 { break }
                }
            }
            #expect(texts == (0..<10).map(String.init))
        }
        await session.shutdown()
    }
}
