import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Sent frames")
struct FrameWriterTests {
    @Test(
        "a frame is unchanged after writing and reading, for each form of the length",
        arguments: [0, 1, 125, 126, 127, 65535, 65536])
    func lengths(_ count: Int) {
        let payload = SampleData.random.bytes(count)
        for role in [WebSocketRole.client, .server] {
            var writer = FrameWriter(role: role, random: SeededNumbers(seed: 3))
            var bytes: [UInt8] = [0xEE]
            writer.write(.binary, payload.span.bytes, into: &bytes)
            let frame = PlainFrame.all(in: Array(bytes.dropFirst()))?.first
            #expect(frame?.payload == payload)
            #expect(frame?.opcode == 2)
            #expect((frame?.mask != nil) == (role == .client))
            #expect(bytes.first == 0xEE)
        }
    }

    @Test("a mask does not depend on the pieces of the payload")
    func masking() {
        let payload = SampleData.random.bytes(200)
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        let expected = payload.enumerated().map { $1 ^ key[$0 % 4] }
        for cut in 0...payload.count {
            var mask = FrameMask(0x12, 0x34, 0x56, 0x78)
            var masked = payload
            var elements = masked.mutableSpan
            var bytes = elements.mutableBytes
            mask.apply(to: &bytes, in: 0..<cut)
            mask.apply(to: &bytes, in: cut..<payload.count)
            #expect(masked == expected)
        }
    }

    @Test("the masks of frames are the numbers of the random source")
    func masks() {
        var numbers = SeededNumbers(seed: 5)
        let words: [UInt64] = [numbers.next(), numbers.next()]
        let expected = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        var writer = FrameWriter(role: .client, random: SeededNumbers(seed: 5))
        var bytes: [UInt8] = []
        for _ in 0..<4 { writer.write(.ping(), into: &bytes) }
        #expect(PlainFrame.all(in: bytes)?.compactMap(\.mask).flatMap(\.self) == expected)
    }

    @Test("the system's masks differ from frame to frame")
    func systemMasks() {
        var writer = FrameWriter(role: .client)
        var bytes: [UInt8] = []
        for _ in 0..<100 { writer.write(.ping(), into: &bytes) }
        let masks = Set(PlainFrame.all(in: bytes)?.compactMap(\.mask) ?? [])
        #expect(masks.count > 98)
    }

    @Test("control frames may be between the fragments of a message")
    func interleaving() throws {
        var writer = MessageWriter(role: .client)
        var bytes: [UInt8] = []
        writer.begin(.text)
        try writer.write(chunk: "Gr".utf8.span.bytes, into: &bytes)
        writer.write(.ping(Array("p".utf8)), into: &bytes)
        try writer.finish(chunk: "üße".utf8.span.bytes, into: &bytes)
        #expect(
            Transcript(of: [bytes], role: .server)
                == Transcript([.ping(Array("p".utf8)), .message(.text("Grüße"))]))
    }

    @Test("a text in chunks is refused unless it is UTF-8")
    func invalidText() throws {
        let scalar = Array("€".utf8)
        var writer = MessageWriter(role: .client)
        var bytes: [UInt8] = []
        writer.begin(.text)
        let start = Array(scalar[..<2])
        try writer.write(chunk: start.span.bytes, into: &bytes)
        #expect(throws: WebSocketViolation.invalidText) { try writer.finish(into: &bytes) }
    }

    @Test("a message without chunks is an empty frame")
    func emptyChunks() throws {
        for compression in [nil, DeflateAgreement()] {
            var writer = MessageWriter(role: .server, compression: compression)
            var bytes: [UInt8] = []
            writer.begin(.text)
            try writer.write(chunk: RawSpan(), into: &bytes)
            #expect(bytes.isEmpty)
            try writer.finish(into: &bytes)
            let transcript = Transcript(of: [bytes], role: .client, compression: compression)
            #expect(transcript == Transcript([.message(.text(""))]))
        }
    }
}
