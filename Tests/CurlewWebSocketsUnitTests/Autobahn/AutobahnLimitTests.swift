import Curlew
import TestHelpers
import Testing

@testable import CurlewWebSockets

/// Both endpoints are the module's, because an independent codec would take minutes for these sizes in a debug build.
@Suite("Cases of the Autobahn test suite, 9.* and 10.*")
struct AutobahnLimitTests {
    private func text(_ count: Int) -> CurlewWebSocket.Message { .text(String(repeating: "*", count: count)) }

    private func binary(_ count: Int) -> CurlewWebSocket.Message { .binary([UInt8](repeating: 0xFE, count: count)) }

    @Test(
        "a message of up to 16 MiB is read, 9.1 and 9.2",
        arguments: [64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20])
    func whole(_ size: Int) throws {
        for message in [text(size), binary(size)] {
            var writer = MessageWriter(role: .client)
            var bytes: [UInt8] = []
            try writer.write(message, into: &bytes)
            #expect(Transcript(of: Pieces.chunks(of: bytes, size: 64 << 10), role: .server).messages == [message])
        }
    }

    @Test(
        "a message of 4 MiB is read in fragments, 9.3 and 9.4",
        arguments: [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20])
    func fragments(_ size: Int) throws {
        let payload = [UInt8](repeating: UInt8(ascii: "*"), count: 4 << 20)
        for kind in [CurlewWebSocket.Message.Kind.text, .binary] {
            var writer = MessageWriter(role: .server)
            var bytes: [UInt8] = []
            writer.begin(kind)
            for chunk in Pieces.chunks(of: payload, size: size) {
                try writer.write(chunk: chunk.span.bytes, into: &bytes)
            }
            try writer.finish(into: &bytes)
            let transcript = Transcript(of: Pieces.chunks(of: bytes, size: 64 << 10), role: .client)
            #expect(transcript.messages == [CurlewWebSocket.Message(kind, bytes: payload)])
        }
    }

    @Test("a message of 1 MiB is read in small pieces, 9.5 and 9.6", arguments: [64, 128, 256, 512, 1024, 2048])
    func pieces(_ size: Int) throws {
        for message in [text(1 << 20), binary(1 << 20)] {
            var writer = MessageWriter(role: .client)
            var bytes: [UInt8] = []
            try writer.write(message, into: &bytes)
            #expect(Transcript(of: Pieces.chunks(of: bytes, size: size), role: .server).messages == [message])
        }
    }

    @Test("a thousand messages are echoed, 9.7 and 9.8", arguments: [0, 16, 64, 256, 1024, 4096])
    func roundTrips(_ size: Int) throws {
        for message in [text(size), binary(size)] {
            var writer = MessageWriter(role: .client)
            var server = EchoConnection(role: .server)
            for _ in 0..<1000 {
                var bytes: [UInt8] = []
                try writer.write(message, into: &bytes)
                try server.receive(bytes)
            }
            let echoes = Transcript(of: Pieces.chunks(of: server.output, size: 64 << 10), role: .client).messages
            #expect(echoes.count == 1000)
            #expect(echoes.allSatisfy { $0 == message })
        }
    }

    @Test("a message without an end is refused at its limit, 9.9")
    func endless() {
        var parser = FrameParser(role: .client, limits: CurlewWebSocket.Limits(messageSize: .kibibytes(64)))
        var buffer = ReceiveBuffer()
        let fragment = [UInt8](repeating: 0x2A, count: 4096)
        var received = 0
        #expect(throws: WebSocketViolation.messageTooBig(limit: 64 << 10)) {
            for index in 0... {
                buffer.fill(with: PlainFrame(index == 0 ? 1 : 0, fragment, isFinal: false).bytes)
                while try parser.next(in: &buffer) != nil {}
                received += fragment.count
            }
        }
        #expect(received == 64 << 10)
    }

    @Test("a message of 65,536 bytes is sent in fragments of 1,300, 10.1.1")
    func automaticFragments() throws {
        let payload = [UInt8](repeating: UInt8(ascii: "*"), count: 65536)
        var writer = MessageWriter(role: .client)
        var bytes: [UInt8] = []
        let chunks = Pieces.chunks(of: payload, size: 1300)
        writer.begin(.text)
        for chunk in chunks.dropLast() { try writer.write(chunk: chunk.span.bytes, into: &bytes) }
        let last = chunks[chunks.count - 1]
        try writer.finish(chunk: last.span.bytes, into: &bytes)
        let frames = try #require(PlainFrame.all(in: bytes))
        #expect(frames.map(\.payload.count) == [Int](repeating: 1300, count: 50) + [536])
        #expect(frames.map(\.opcode) == [1] + [UInt8](repeating: 0, count: 50))
        #expect(frames.map(\.isFinal) == [Bool](repeating: false, count: 50) + [true])
        #expect(frames.flatMap(\.payload) == payload)
    }
}
