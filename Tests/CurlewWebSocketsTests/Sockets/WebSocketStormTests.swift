import CurlewTesting
import CurlewTestingTraits
import SeededNumbers
import Testing

@testable import Curlew
@testable import CurlewWebSockets

@Suite("Many WebSockets", .noLeaks, .serialized, .timeLimit(.minutes(4)))
struct WebSocketStormTests {
    @Test("1,000 WebSockets that are cancelled at random leave no connection behind")
    func storm() async throws {
        let server = try await MockWebSocketServer.start { socket in try await socket.echo() }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/") { $0.connections.perHost = 50 }
        var random = SeededNumbers(seed: 4)
        let delays = (0..<1000).map { _ in Int(random.next() % 20) }
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            var endings = 0
            for (index, delay) in delays.enumerated() {
                group.addTask {
                    let task = Task {
                        try await session.webSocket("", options: CurlewWebSocket.Options(closeTimeout: .seconds(10))) {
                            socket in
                            try await socket.send(.text("\(index)"))
                            var messages = socket.messages.makeAsyncIterator()
                            let message = try await messages.next()
                            #expect(message == nil || message?.text == "\(index)")
                        }
                    }
                    if index % 2 == 0 {
                        try? await Task.sleep(for: .milliseconds(delay))
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

    @Test("a shutdown of the session ends all WebSockets in every state")
    func shutdown() async throws {
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
        for delay in [0, 1, 3, 10, 30] {
            let session = try makeSession(baseURL: server.url())
            let tasks = (0..<30).map { index in
                Task {
                    try await session.webSocket("") { socket in
                        try await socket.send(.text("\(index)"))
                        for try await _ in socket.messages {}
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(delay))
            await session.shutdown(deadline: .milliseconds(200))
            for task in tasks { _ = await task.result }
            #expect(await session.session?.tasks().isEmpty == true)
        }
        try await server.waitForConnections { $0.open == 0 }
        await server.shutdown()
    }
}
