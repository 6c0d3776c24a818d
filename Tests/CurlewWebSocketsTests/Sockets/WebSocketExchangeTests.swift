import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("The exchange of a WebSocket", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketExchangeTests {
    @Test("an event of the session reports the end, with the response of the handshake")
    func event() async throws {
        let stage = try await ClosingStage { try await $0.echo() }
        let actor = try #require(stage.session.session)
        var events = actor.events.makeAsyncIterator()
        let ending = try await stage.session.webSocket("") { _ in }
        #expect(ending.isClean)
        var last = await events.next()
        while let event = last, event.kind != .completed { last = await events.next() }
        #expect(last?.response?.status == .switchingProtocols)
        #expect(last?.error == nil)
        await stage.session.shutdown()
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

    @Test("a shutdown of the session closes with 1001 and waits until its deadline", arguments: [true, false])
    func shutdown(_ closes: Bool) async throws {
        let stage = try await ClosingStage { socket in
            if closes { return try await socket.echo() }
            var status: CurlewWebSocket.CloseStatus?
            while let event = try await socket.receive() {
                if case .close(let received) = event { status = received }
            }
            return status
        }
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await stage.session.webSocket("") { socket in
                start.yield()
                for try await _ in socket.messages {}
            }
        }
        for await _ in started { break }
        await stage.session.shutdown(deadline: .milliseconds(300))
        if closes {
            let ending = try await task.value
            #expect(ending.isClean)
            #expect(ending.sent?.code == .goingAway)
        } else {
            let error = await curlewError { _ = try await task.value }
            #expect(error?.code == .sessionInvalidated)
        }
        #expect(try await stage.codes() == [.goingAway])
    }

    @Test("a cancellation of the exchange ends the WebSocket with a last close frame")
    func cancelledTask() async throws {
        let stage = try await ClosingStage { try await $0.echo() }
        let error = await curlewError {
            try await stage.session.webSocket("") { socket in
                socket.response.task?.cancel()
                for try await _ in socket.messages {}
            }
        }
        #expect(error?.code == .cancelled)
        await stage.session.shutdown()
        #expect(try await stage.codes() == [.goingAway])
    }
}
