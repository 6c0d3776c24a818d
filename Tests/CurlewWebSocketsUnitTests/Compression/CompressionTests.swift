internal import CZlib
import Curlew
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("Compression of messages")
struct CompressionTests {
    private static let eager = CurlewWebSocket.Compression(minimumSize: 0)

    private func agreement(
        clientKeepsContext: Bool = true, serverKeepsContext: Bool = true,
        clientWindow: CurlewWebSocket.Compression.Window = .bits15,
        serverWindow: CurlewWebSocket.Compression.Window = .bits15
    ) -> DeflateAgreement {
        var agreement = DeflateAgreement()
        agreement.clientKeepsContext = clientKeepsContext
        agreement.serverKeepsContext = serverKeepsContext
        agreement.clientWindow = clientWindow
        agreement.serverWindow = serverWindow
        return agreement
    }

    /// Reads the compressed payloads of a server's messages.
    private func read(
        _ payloads: [[UInt8]], opcode: UInt8 = 1, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(),
        agreement: DeflateAgreement = DeflateAgreement()
    ) -> Transcript {
        let bytes = payloads.flatMap { PlainFrame(opcode, $0, reserved: 4).bytes }
        return Transcript(of: [bytes], role: .client, limits: limits, compression: agreement)
    }

    /// The compressed payload of a message.
    private func compressed(_ bytes: [UInt8]) throws -> [UInt8] {
        var deflater = MessageDeflater(DeflateAgreement(), role: .server, level: 9)
        var output: [UInt8] = []
        try deflater.deflate(bytes.span.bytes, isLast: true, into: &output)
        return output
    }

    @Test("the examples of RFC 7692 §7.2.3 are read")
    func examples() {
        let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let helloByContext: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        let blocks: [UInt8] = [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]
        let all = [hello, helloByContext, stored, final, blocks]
        #expect(read(all).messages == [CurlewWebSocket.Message](repeating: .text("Hello"), count: 5))
        let fragments =
            PlainFrame(1, [0xF2, 0x48, 0xCD], isFinal: false, reserved: 4).bytes
            + PlainFrame(0, [0xC9, 0xC9, 0x07, 0x00]).bytes
        for pieces in Pieces.pairs(of: fragments) {
            let transcript = Transcript(of: pieces, role: .client, compression: DeflateAgreement())
            #expect(transcript == Transcript([.message(.text("Hello"))]))
        }
    }

    @Test("an empty message is sent as a zero byte, and may be received without a byte")
    func empty() throws {
        #expect(try compressed([]) == [0x00])
        #expect(read([[0x00], [], [0x00]]).messages == [.text(""), .text(""), .text("")])
        var writer = MessageWriter(role: .server, compression: DeflateAgreement(), options: Self.eager)
        var bytes: [UInt8] = []
        for _ in 0..<3 { try writer.write(.text(""), into: &bytes) }
        #expect(PlainFrame.all(in: bytes)?.map(\.payload) == [[0x00], [0x00], [0x00]])
    }

    @Test("a final block keeps the context", arguments: [[0x00], []] as [[UInt8]])
    func finalBlock(_ end: [UInt8]) {
        // The first message is "Hello" in a final block, and the second is a reference to it.
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] + end
        #expect(read([final, [0xF2, 0x00, 0x11, 0x00, 0x00]]).messages == [.text("Hello"), .text("Hello")])
    }

    @Test("many final blocks in a message are read quickly")
    func manyFinalBlocks() {
        // An empty final block with fixed codes has two bytes.
        let blocks = (0..<100_000).flatMap { _ in [0x03, 0x00] as [UInt8] }
        #expect(read([blocks + [0x00]], opcode: 2).messages == [.binary([])])
    }

    @Test(
        "corrupt data is refused with 1007",
        arguments: [
            [0xFF, 0xFF], [0x07], [0xF2, 0x48, 0xCD], [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48],
            [0x00, 0x05, 0x00, 0x00, 0x00],
            // A reference to bytes before the first byte.
            [0x82, 0x00, 0x00],
        ] as [[UInt8]])
    func corrupt(_ payload: [UInt8]) {
        let transcript = read([payload])
        #expect(transcript == Transcript(violation: .corruptCompression))
        #expect(transcript.violation?.closeCode == .invalidPayload)
    }

    @Test("a truncated message is refused")
    func truncated() throws {
        let message = SampleData.json.bytes(2000)
        let whole = try compressed(message)
        for count in 0..<whole.count {
            let transcript = read([Array(whole[..<count])])
            // A prefix without bytes is an empty message. Every other prefix lacks the end of a block.
            #expect(
                transcript
                    == (count == 0 ? Transcript([.message(.text(""))]) : Transcript(violation: .corruptCompression)))
        }
    }

    @Test("text is validated after decompression")
    func text() throws {
        #expect(read([try compressed([0x61, 0xFF])]).violation == .invalidText)
        #expect(read([try compressed([0x61, 0xE2, 0x82])]).violation == .invalidText)
    }

    @Test("a message below the minimum size is not compressed")
    func minimumSize() throws {
        var writer = MessageWriter(
            role: .server, compression: DeflateAgreement(), options: CurlewWebSocket.Compression(minimumSize: 10))
        var bytes: [UInt8] = []
        for count in [9, 10] {
            try writer.write(.binary([UInt8](repeating: 1, count: count)), into: &bytes)
        }
        #expect(PlainFrame.all(in: bytes)?.map(\.reserved) == [0, 4])
    }

    @Test("a message that compression does not shorten is sent uncompressed, unless contexts are kept")
    func incompressible() throws {
        let message = CurlewWebSocket.Message.binary(SampleData.random.bytes(1000))
        for keepsContext in [false, true] {
            let agreement = agreement(serverKeepsContext: keepsContext)
            var writer = MessageWriter(role: .server, compression: agreement, options: Self.eager)
            var bytes: [UInt8] = []
            for _ in 0..<3 { try writer.write(message, into: &bytes) }
            let frames = PlainFrame.all(in: bytes) ?? []
            #expect(frames.map(\.reserved) == (keepsContext ? [4, 4, 4] : [0, 0, 0]))
            // The second message is a reference to the first.
            #expect((frames[1].payload.count < 50) == keepsContext)
            #expect(
                Transcript(of: [bytes], role: .client, compression: agreement).messages == [message, message, message])
        }
    }

    @Test("only the first frame of a message has the compression bit")
    func compressionBit() throws {
        var writer = MessageWriter(role: .server, compression: DeflateAgreement())
        var bytes: [UInt8] = []
        writer.begin(.text)
        for chunk in ["a", "b", "c"] { try writer.write(chunk: chunk.utf8.span.bytes, into: &bytes) }
        try writer.finish(into: &bytes)
        #expect(PlainFrame.all(in: bytes)?.map(\.reserved) == [4, 0, 0, 0])
    }

    @Test("each chunk can be read before the next one")
    func flushedChunks() throws {
        var writer = MessageWriter(role: .server, compression: DeflateAgreement())
        var reader = MessageReader(role: .client, compression: DeflateAgreement())
        var buffer = ReceiveBuffer()
        var message: [UInt8] = []
        writer.begin(.text)
        for chunk in ["Habe nun, ", "ach! ", "Philosophie"] {
            var bytes: [UInt8] = []
            try writer.write(chunk: chunk.utf8.span.bytes, into: &bytes)
            buffer.fill(with: bytes)
            while try reader.next(in: &buffer, into: &message) != nil {}
            #expect(String(decoding: message, as: UTF8.self).hasSuffix(chunk))
        }
    }

    @Test("a deflate bomb is refused at the maximum size of a message")
    func bomb() throws {
        let bomb = try compressed([UInt8](repeating: 0, count: 4 << 20))
        #expect(bomb.count < 5000)
        let limits = CurlewWebSocket.Limits(messageSize: .kibibytes(100), ratio: nil)
        var reader = MessageReader(role: .client, limits: limits, compression: DeflateAgreement())
        var buffer = ReceiveBuffer()
        var bytes: [UInt8] = []
        buffer.fill(with: PlainFrame(2, bomb, reserved: 4).bytes)
        #expect(throws: WebSocketViolation.messageTooBig(limit: 100 << 10)) {
            while try reader.next(in: &buffer, into: &bytes) != nil {}
        }
        #expect(bytes.count <= 100 << 10 + 1)
    }

    @Test("a message that exceeds the ratio is refused beyond the free size")
    func ratio() throws {
        let payload = try compressed([UInt8](repeating: 0, count: 1 << 20))
        let strict = CurlewWebSocket.Limits(ratio: 100, ratioFreeSize: .kibibytes(64))
        let transcript = read([payload], opcode: 2, limits: strict)
        #expect(transcript.violation == .ratioTooHigh(limit: 100))
        #expect(transcript.violation?.closeCode == .messageTooBig)
        #expect(read([payload], opcode: 2).messages.count == 1)
        #expect(read([payload], opcode: 2, limits: CurlewWebSocket.Limits(ratio: nil)).messages.count == 1)
    }

    @Test("a large message is decompressed in steps of at most 64 KiB")
    func steps() throws {
        let payload = try compressed([UInt8](repeating: 0, count: 1 << 20))
        var reader = MessageReader(role: .client, compression: DeflateAgreement())
        var buffer = ReceiveBuffer()
        var bytes: [UInt8] = []
        var total = 0
        buffer.fill(with: PlainFrame(2, payload, reserved: 4).bytes)
        while try reader.next(in: &buffer, into: &bytes) != nil {
            #expect(bytes.count <= MessageInflater.stepLimit)
            total += bytes.count
            bytes.removeAll(keepingCapacity: true)
        }
        #expect(total == 1 << 20)
    }

    @Test("a message of empty blocks is refused because of the size of its frames")
    func emptyBlocks() {
        let limits = CurlewWebSocket.Limits(messageSize: .kibibytes(10))
        let blocks = (0..<20_000).flatMap { _ in [0x03, 0x00] as [UInt8] }
        #expect(read([blocks], opcode: 2, limits: limits).violation == .messageTooBig(limit: 10 << 10))
    }

    @Test("a compressed message of the maximum size is accepted")
    func largestSize() throws {
        let limits = CurlewWebSocket.Limits(messageSize: .kibibytes(256))
        let message = SampleData.random.bytes(256 << 10)
        #expect(read([try compressed(message)], opcode: 2, limits: limits).messages == [.binary(message)])
        let longer = SampleData.random.bytes(256 << 10 + 1)
        #expect(read([try compressed(longer)], opcode: 2, limits: limits).violation == .messageTooBig(limit: 256 << 10))
    }

    @Test("messages are unchanged with any window and context", arguments: CurlewWebSocket.Compression.Window.allCases)
    func allParameters(_ window: CurlewWebSocket.Compression.Window) throws {
        for role in [WebSocketRole.client, .server] {
            for keepsContext in [true, false] {
                for level in [1, 6, 9] {
                    try roundTrip(role, window, keepsContext: keepsContext, level: level)
                }
            }
        }
    }

    private func roundTrip(
        _ role: WebSocketRole, _ window: CurlewWebSocket.Compression.Window, keepsContext: Bool, level: Int
    ) throws {
        let agreement = agreement(
            clientKeepsContext: role == .client ? keepsContext : true,
            serverKeepsContext: role == .server ? keepsContext : true,
            clientWindow: role == .client ? window : .bits15, serverWindow: role == .server ? window : .bits15)
        var numbers = SeededNumbers(seed: UInt64(window.rawValue * 10 + level))
        var writer = MessageWriter(
            role: role, compression: agreement, options: CurlewWebSocket.Compression(level: level, minimumSize: 0))
        var bytes: [UInt8] = []
        var sent: [CurlewWebSocket.Message] = []
        for _ in 0..<20 {
            let data = SampleData.allCases[numbers.next(upTo: 5)]
            let payload = data.bytes(numbers.next(upTo: 3000), seed: numbers.next())
            if numbers.next(upTo: 2) == 0 {
                try writer.write(CurlewWebSocket.Message(data.kind, bytes: payload), into: &bytes)
            } else {
                writer.begin(data.kind)
                for piece in Pieces.random(payload, seed: numbers.next(), upTo: 900) {
                    try writer.write(chunk: piece.span.bytes, into: &bytes)
                }
                try writer.finish(into: &bytes)
            }
            sent.append(CurlewWebSocket.Message(data.kind, bytes: payload))
        }
        let reader: WebSocketRole = role == .client ? .server : .client
        for pieces in [[bytes], Pieces.random(bytes, seed: numbers.next(), upTo: 100)] {
            let transcript = Transcript(of: pieces, role: reader, compression: agreement)
            #expect(transcript.violation == nil)
            #expect(transcript.messages == sent)
        }
    }

    @Test("a window of 256 bytes holds every reference of the compressor")
    func smallestWindow() throws {
        var deflater = MessageDeflater(agreement(serverWindow: .bits8), role: .server, level: 9)
        let inflater = StrictInflater(windowBits: 8)
        for seed in 0..<20 as Range<UInt64> {
            let message = SampleData.bitmap.bytes(2000, seed: seed) + SampleData.json.bytes(2000, seed: seed)
            var output: [UInt8] = []
            try deflater.deflate(message.span.bytes, isLast: true, into: &output)
            #expect(output.count < message.count)
            #expect(inflater.inflate(output + [0x00, 0x00, 0xFF, 0xFF], upTo: 10_000) == message)
        }
    }

    @Test("idle compression frees its memory only without kept contexts")
    func idleMemory() throws {
        for keepsContext in [true, false] {
            let agreement = agreement(clientKeepsContext: keepsContext, serverKeepsContext: keepsContext)
            var writer = MessageWriter(role: .server, compression: agreement, options: Self.eager)
            var reader = MessageReader(role: .client, compression: agreement)
            var buffer = ReceiveBuffer()
            var message: [UInt8] = []
            for _ in 0..<3 {
                var bytes: [UInt8] = []
                try writer.write(.text("Hello Hello Hello"), into: &bytes)
                writer.freeIdleMemory()
                buffer.fill(with: bytes)
                message = []
                while try reader.next(in: &buffer, into: &message) != nil {}
                reader.freeIdleMemory()
                #expect(message == Array("Hello Hello Hello".utf8))
            }
        }
    }
}

/// zlib's decompression with exactly the given window.
private final class StrictInflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init(windowBits: Int32) {
        stream.initialize(to: z_stream())
        #expect(curlew_inflate_init(stream, -windowBits) == Z_OK)
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses in steps of one byte. Within a larger step zlib would refer to the output itself, at any distance.
    func inflate(_ input: [UInt8], upTo count: Int) -> [UInt8]? {
        var input = input
        var output: [UInt8] = []
        let isSound = input.withUnsafeMutableBufferPointer { source in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = UInt32(source.count)
            while output.count < count {
                var byte: UInt8 = 0
                let status = withUnsafeMutablePointer(to: &byte) { target in
                    stream.pointee.next_out = target
                    stream.pointee.avail_out = 1
                    return CZlib.inflate(stream, Z_SYNC_FLUSH)
                }
                if stream.pointee.avail_out == 0 { output.append(byte) }
                if status == Z_BUF_ERROR || stream.pointee.avail_out == 1 { return stream.pointee.avail_in == 0 }
                if status != Z_OK { return false }
            }
            return true
        }
        return isSound ? output : nil
    }
}
