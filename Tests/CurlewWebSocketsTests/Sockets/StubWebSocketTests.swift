import Curlew
import CurlewTesting
import CurlewTestingTraits
import CurlewWebSockets
import HTTPTypes
import TestHelpers
import Testing

@Suite("A WebSocket over a stub transport", .noLeaks, .serialized, .timeLimit(.minutes(1)))
struct StubWebSocketTests {
    private func session(_ stub: StubTransport) throws -> HTTPSession {
        try HTTPSession(baseURL: "https://api.test/", transport: stub)
    }

    @Test("a stub exchanges messages and close frames without a socket")
    func echo() async throws {
        let stub = StubTransport()
        stub.on(.get, "/rooms/*", answer: .webSocket(protocols: ["chat"]) { socket in try await socket.echo() })
        let ending = try await session(stub).webSocket("rooms/7", protocols: ["chat"]) { socket in
            #expect(socket.subprotocol == "chat")
            var messages = socket.messages.makeAsyncIterator()
            for size in [0, 1, 100_000, 1_000_000] {
                let message = CurlewWebSocket.Message.binary([UInt8](repeating: 3, count: size))
                try await socket.send(message)
                let answer = try await messages.next()
                #expect(answer == message)
            }
        }
        #expect(ending.isClean)
        try stub.verify()
    }

    @Test("a protocol violation of a stub is answered with a close frame")
    func fault() async throws {
        let stub = StubTransport()
        stub.on(
            .get, "/",
            answer: .webSocket { socket in
                try await socket.send(MockWebSocketFrame(opcode: 3))
                #expect(
                    try await socket.receive()
                        == .close(
                            CurlewWebSocket.CloseStatus(.protocolError, reason: "a frame has the reserved opcode 3")!))
            })
        let error = await curlewError {
            try await session(stub).webSocket("") { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .webSocketFailed)
    }

    @Test("an ended connection and a refusal of a stub are errors")
    func ends() async throws {
        let stub = StubTransport()
        stub.on(.get, "/ends", answer: .webSocket { _ in })
        stub.on(.get, "/refuses", answer: .response(.forbidden, body: "no"))
        let lost = await curlewError {
            try await session(stub).webSocket("ends") { socket in
                for try await _ in socket.messages {}
            }
        }
        #expect(lost?.code == .connectionLost)
        let refused = await curlewError { try await session(stub).webSocket("refuses") { _ in } }
        #expect(refused?.code == .webSocketHandshakeFailed)
        #expect(refused?.bodyPrefix == Array("no".utf8))
    }

    @Test("a cancelled task closes the WebSocket of a stub with 1001")
    func cancelled() async throws {
        let stub = StubTransport()
        let (closes, close) = AsyncStream.makeStream(of: CurlewWebSocket.CloseCode?.self)
        stub.on(
            .get, "/",
            answer: .webSocket { socket in
                try await socket.send(.text("started"))
                close.yield(try await socket.echo()?.code)
            })
        let session = try session(stub)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await session.webSocket("") { socket in
                for try await _ in socket.messages { start.yield() }
            }
        }
        for await _ in started { break }
        task.cancel()
        let error = await curlewError { _ = try await task.value }
        #expect(error?.code == .cancelled)
        for await code in closes {
            #expect(code == .goingAway)
            break
        }
    }
}
