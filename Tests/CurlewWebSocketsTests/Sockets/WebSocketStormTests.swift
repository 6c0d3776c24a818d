import Curlew
import CurlewTesting
import CurlewTestingTraits
import SeededNumbers
import Testing

@testable import CurlewWebSockets

@Suite("Many WebSockets", .noLeaks, .serialized, .timeLimit(.minutes(4)))
struct WebSocketStormTests {
    /// A moment in the life of a WebSocket.
    private struct Moment {
        /// The number of earlier events: none, the opening, or the opening and the message.
        let events: Int
        /// The number of the loop's turns after the last event.
        let turns: Int
    }

    /// Waits for a turn of the loop.
    private func turn(of loop: CurlewEventLoop) async {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume() }
        }
    }

    @Test("1,000 WebSockets that are cancelled at random leave no connection behind")
    func storm() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/") { $0.connections.perHost = 50 }
        let loop = try #require(session.session?.eventLoop)
        var random = SeededNumbers(seed: 4)
        let moments = (0..<1000).map { _ in Moment(events: random.next(upTo: 3), turns: random.next(upTo: 100)) }
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            var endings = 0
            for (index, moment) in moments.enumerated() {
                group.addTask {
                    let (events, event) = AsyncStream.makeStream(of: Void.self)
                    let task = Task {
                        defer { event.finish() }
                        let options = CurlewWebSocket.Options(closeTimeout: .seconds(10))
                        return try await session.webSocket("", options: options) { socket in
                            event.yield()
                            try await socket.send(.text("\(index)"))
                            var messages = socket.messages.makeAsyncIterator()
                            let message = try await messages.next()
                            #expect(message == nil || message?.text == "\(index)")
                            event.yield()
                        }
                    }
                    if index % 2 == 0 {
                        for await _ in events.prefix(moment.events) {}
                        for _ in 0..<moment.turns { await turn(of: loop) }
                        task.cancel()
                    }
                    switch await task.result {
                    case .success(let ending): return ending.isClean
                    case .failure(let error):
                        #expect((error as? CurlewError)?.code == .cancelled)
                        return false
                    }
                }
                if index >= 100, await group.next() == true { endings += 1 }
            }
            for await isClean in group where isClean { endings += 1 }
            return endings
        }
        #expect(outcomes >= 500)
        #expect(await session.session?.connectionCount() == 0)
        await session.shutdown()
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("a shutdown of the session ends all WebSockets in every state", arguments: [0, 1, 7, 20, 30])
    func shutdown(_ count: Int) async throws {
        let server = try await RawServer.start { connection in
            // Every third connection neither answers the handshake nor closes.
            switch connection.index % 3 {
            case 0: try await connection.closed
            case 1:
                let socket = try await MockWebSocket.accept(connection)
                while try await socket.receive() != nil {}
            default: try await MockWebSocket.accept(connection).echo()
            }
        }
        let session = try makeSession(baseURL: server.url())
        let (events, event) = AsyncStream.makeStream(of: Void.self)
        let tasks = (0..<30).map { index in
            Task {
                try await session.webSocket("") { socket in
                    event.yield()
                    try await socket.send(.text("\(index)"))
                    for try await _ in socket.messages { event.yield() }
                }
            }
        }
        // Twenty WebSockets open, and ten of them get their message back: thirty events.
        for await _ in events.prefix(count) {}
        await session.shutdown(deadline: .milliseconds(200))
        for task in tasks { _ = await task.result }
        #expect(await session.session?.tasks().isEmpty == true)
        try await server.waitForConnections { $0.open == 0 }
        await server.shutdown()
    }
}
