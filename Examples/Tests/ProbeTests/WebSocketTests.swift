import CurlewTesting
import CurlewWebSockets
import Testing

@testable import Probe

@Suite("WebSockets of the probe", .timeLimit(.minutes(1)))
struct WebSocketTests {
    @Test("items are sent in order, and messages and the close are lines", arguments: [false, true])
    func echo(_ isCompressed: Bool) async throws {
        let options = CurlewWebSocket.Options(compression: isCompressed ? CurlewWebSocket.Compression() : nil)
        let server = try await MockWebSocketServer.start(protocols: ["chat"], options: options) { try await $0.echo() }
        let probe = ProbeDriver()
        await probe.send(
            #"{"id":1,"op":"websocket","url":"\#(server.url())","protocols":["chat"],"compress":\#(isCompressed),"send":[{"text":"é"},{"ping":true},{"body":"AAE="}]}"#
        )
        let open = try JSONReader.read(Array(try await probe.nextLine().utf8))
        #expect(open.string("event") == "open")
        #expect(open.string("protocol") == "chat")
        #expect((open["extensions"] == .null) == !isCompressed)
        #expect(try await probe.nextLine() == #"{"id":1,"event":"message","text":"é"}"#)
        #expect(try await probe.nextLine() == #"{"id":1,"event":"message","body":"AAE="}"#)
        await probe.send(#"{"id":2,"op":"ws-send","target":1,"send":[{"text":"more"},{"close":4001,"reason":"bye"}]}"#)
        #expect(try await probe.answer(to: 2)["sent"] == .bool(true))
        #expect(try await probe.answer(to: 1).string("text") == "more")
        let closed = try await probe.answer(to: 1)
        #expect(closed.string("event") == "closed")
        #expect(closed["code"] == .integer(4001))
        #expect(closed["clean"] == .bool(true))
        await probe.send(#"{"id":3,"op":"ws-send","target":1,"send":[{"text":"late"}]}"#)
        #expect(try await probe.answer(to: 3)["sent"] == .bool(false))
        await probe.finish()
        await server.shutdown()
    }

    @Test("an abort and a refusal end a WebSocket with an error")
    func errors() async throws {
        let server = try await MockWebSocketServer.start { try await $0.echo() }
        let probe = ProbeDriver()
        await probe.send(#"{"id":1,"op":"websocket","url":"\#(server.url())"}"#)
        #expect(try await probe.answer(to: 1).string("event") == "open")
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        #expect(try await probe.answer(to: 1).code == "cancelled")
        let plain = try await MockServer.start { _ in MockResponse(body: "no") }
        await probe.send(#"{"id":3,"op":"websocket","url":"\#(plain.url())"}"#)
        #expect(try await probe.answer(to: 2)["aborted"] == .bool(true))
        #expect(try await probe.answer(to: 3).code == "websocket-handshake-failed")
        await probe.finish()
        await server.shutdown()
        await plain.shutdown()
    }

    @Test("invalid items are a bad request", arguments: [#"{"text":1}"#, "{}", #"{"close":70000}"#])
    func badItems(_ item: String) async throws {
        let answer = try await ProbeDriver().ask(
            #"{"id":1,"op":"websocket","url":"ws://127.0.0.1:1/","send":[\#(item)]}"#)
        #expect(answer.code == "bad-request")
    }
}
