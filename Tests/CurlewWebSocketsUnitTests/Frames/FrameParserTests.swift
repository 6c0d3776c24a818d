import Curlew
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Received frames")
struct FrameParserTests {
    private func transcript(
        _ bytes: [UInt8], role: WebSocketRole = .client, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits()
    ) -> Transcript { Transcript(of: [bytes], role: role, limits: limits) }

    @Test("the examples of RFC 6455 are read")
    func examples() {
        let hello = Transcript([.message(.text("Hello"))])
        #expect(transcript([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == hello)
        #expect(
            transcript([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], role: .server) == hello)
        #expect(transcript([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]) == hello)
        #expect(transcript([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]) == Transcript([.ping(Array("Hello".utf8))]))
    }

    @Test("a client refuses a mask")
    func unexpectedMask() {
        #expect(transcript([0x81, 0x85]) == Transcript(violation: .unexpectedMask))
    }

    @Test("a server refuses a frame without a mask")
    func missingMask() {
        #expect(transcript([0x81, 0x05], role: .server) == Transcript(violation: .missingMask))
    }

    @Test(
        "a length is refused unless it has the shortest form",
        arguments: [
            ([0x82, 126, 0, 125], 125), ([0x82, 126, 0, 0], 0), ([0x82, 127, 0, 0, 0, 0, 0, 0, 0, 1], 1),
            ([0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 0xFFFF),
        ] as [([UInt8], UInt64)])
    func minimalLength(_ bytes: [UInt8], _ length: UInt64) {
        #expect(transcript(bytes) == Transcript(violation: .lengthNotMinimal(length)))
    }

    @Test("a length of 2^63 is a protocol error, and a smaller length is too big")
    func greatLengths() {
        let outOfRange = transcript([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(outOfRange.violation == .lengthOutOfRange(1 << 63))
        #expect(outOfRange.violation?.closeCode == .protocolError)
        let tooBig = transcript([0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7))
        #expect(tooBig.violation == .frameTooBig(length: UInt64(Int64.max), limit: 16 << 20))
        #expect(tooBig.violation?.closeCode == .messageTooBig)
    }

    @Test("the sum of lengths does not overflow without limits")
    func overflow() {
        let limits = CurlewWebSocket.Limits(messageSize: ByteSize(.max), frameSize: ByteSize(.max))
        let bytes: [UInt8] = [0x02, 0x01, 0x00] + [0x80, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7)
        #expect(transcript(bytes, limits: limits).violation == .messageTooBig(limit: .max))
    }

    @Test("a frame above its limit is refused with its header")
    func frameLimit() {
        let limits = CurlewWebSocket.Limits(frameSize: 10)
        #expect(transcript(PlainFrame(2, [UInt8](repeating: 0, count: 10)).bytes, limits: limits).messages.count == 1)
        #expect(transcript([0x82, 11], limits: limits).violation == .frameTooBig(length: 11, limit: 10))
    }

    @Test("a message above its limit is refused with the header that exceeds it")
    func messageLimit() {
        let limits = CurlewWebSocket.Limits(messageSize: 10)
        let begun = PlainFrame(2, [UInt8](repeating: 0, count: 6), isFinal: false).bytes
        #expect(transcript(begun + [0x80, 4, 0, 0, 0, 0], limits: limits).messages.count == 1)
        #expect(transcript(begun + [0x80, 5], limits: limits).violation == .messageTooBig(limit: 10))
    }

    @Test("a control frame does not count towards the limits of messages")
    func controlFrameLimit() {
        let limits = CurlewWebSocket.Limits(messageSize: 2, frameSize: 2)
        let ping = PlainFrame(9, [UInt8](repeating: 1, count: 125)).bytes
        let bytes = PlainFrame(2, [0], isFinal: false).bytes + ping + PlainFrame(0, [0]).bytes
        #expect(transcript(bytes, limits: limits).messages == [.binary([0, 0])])
    }

    @Test(
        "a violation is found at the first byte that shows it",
        arguments: [[0xB1], [0x83], [0x09], [0x80], [0x89, 126]] as [[UInt8]])
    func failFast(_ bytes: [UInt8]) {
        #expect(transcript(bytes).violation?.closeCode == .protocolError)
        #expect(transcript(bytes.dropLast()).violation == nil)
    }

    @Test("the compression bit is refused without a negotiation, on continuations and on control frames")
    func compressionBit() {
        #expect(transcript([0xC1]).violation == .compressionNotNegotiated)
        let agreement = DeflateAgreement()
        for bytes: [UInt8] in [[0x01, 0x00, 0xC0], [0xC9], [0xC8]] {
            let transcript = Transcript(of: [bytes], role: .client, compression: agreement)
            #expect(transcript.violation == .misplacedCompressionBit)
        }
    }

    @Test("bytes after a close frame are discarded")
    func closed() throws {
        let status = try #require(CurlewWebSocket.CloseStatus(.goingAway, reason: "bye"))
        let bytes = PlainFrame.close(1001, "bye").bytes + [0xFF, 0xFF, 0xFF]
        #expect(transcript(bytes) == Transcript([.close(status)]))
    }

    @Test("a violation is thrown again for later bytes")
    func failed() {
        var parser = FrameParser(role: .client)
        var buffer = ReceiveBuffer()
        for bytes: [UInt8] in [[0x83], [0x81, 0x00]] {
            buffer.fill(with: bytes)
            #expect(throws: WebSocketViolation.reservedOpcode(3)) { try parser.next(in: &buffer) }
        }
    }

    @Test("messages do not depend on the pieces of their bytes", arguments: [WebSocketRole.client, .server])
    func cuts(_ role: WebSocketRole) throws {
        let frames = [
            PlainFrame(1, "grüße", isFinal: false), PlainFrame(9, "p"), PlainFrame(0, "", isFinal: false),
            PlainFrame(0, "𤭢"), PlainFrame(2, [UInt8](repeating: 7, count: 130)), PlainFrame(10), .close(4000, "ü"),
        ]
        let bytes = frames.flatMap { $0.masked(to: role).bytes }
        let status = try #require(CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: 4000), reason: "ü"))
        let expected = Transcript([
            .ping(Array("p".utf8)), .message(.text("grüße𤭢")), .message(.binary([UInt8](repeating: 7, count: 130))),
            .pong([]), .close(status),
        ])
        for pieces in Pieces.pairs(of: bytes) + Pieces.all(of: bytes) {
            #expect(Transcript(of: pieces, role: role) == expected)
        }
    }

    @Test("a message is delivered in chunks before its end")
    func chunks() throws {
        var reader = MessageReader(role: .client)
        var buffer = ReceiveBuffer(capacity: 16)
        var bytes: [UInt8] = []
        var events: [MessageEvent] = []
        for piece in [[0x82, 0x05, 1, 2], [3], [4, 5]] as [[UInt8]] {
            buffer.fill(with: piece)
            while let event = try reader.next(in: &buffer, into: &bytes) { events.append(event) }
        }
        #expect(events == [.begin(.binary), .chunk(2), .chunk(1), .chunk(2), .end])
        #expect(bytes == [1, 2, 3, 4, 5])
    }

    @Test("the rest of a buffer can be read later")
    func rest() throws {
        var reader = MessageReader(role: .client)
        var buffer = ReceiveBuffer()
        var bytes: [UInt8] = []
        buffer.fill(with: PlainFrame(2, [1]).bytes + PlainFrame(2, [2]).bytes)
        while try reader.next(in: &buffer, into: &bytes) != .end {}
        let rest = buffer.takeRest()
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
        buffer.fill(with: rest)
        while try reader.next(in: &buffer, into: &bytes) != .end {}
        #expect(bytes == [1, 2])
    }

    @Test("a buffer rethrows the error of its source")
    func sourceError() {
        struct SourceError: Error {}
        var buffer = ReceiveBuffer()
        #expect(throws: SourceError.self) {
            try buffer.fill { (_) throws(SourceError) in throw SourceError() }
        }
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
    }
}
