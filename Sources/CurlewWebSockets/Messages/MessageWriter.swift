/// A writer of messages and control frames: compression, fragments and masks.
package struct MessageWriter: ~Copyable {
    private var frames: FrameWriter
    private var deflater: MessageDeflater?
    private let minimumSize: Int
    /// The message that is written in chunks.
    private var open: OpenMessage?
    /// The compressed bytes of the next frame. The header of the frame needs their number.
    private var scratch: [UInt8] = []

    private struct OpenMessage {
        let kind: CurlewWebSocket.Message.Kind
        let isCompressed: Bool
        var isBegun = false
        var text: UTF8Validator?
    }

    /// The maximum capacity that is kept for the next message.
    private static let keptCapacity = 64 << 10

    /// - Parameters:
    ///   - role: The role of this endpoint.
    ///   - compression: The result of the negotiation; nil for no compression.
    ///   - options: The level and the minimum size of compression.
    ///   - random: The source of the masks. It must be unpredictable, except in tests.
    package init(
        role: WebSocketRole, compression: DeflateAgreement? = nil,
        options: CurlewWebSocket.Compression = CurlewWebSocket.Compression(),
        random: any RandomNumberGenerator = BulkRandom()
    ) {
        frames = FrameWriter(role: role, random: random)
        deflater = compression.map { MessageDeflater($0, role: role, level: options.level) }
        minimumSize = options.minimumBytes
    }

    /// Appends a complete message as one frame. No message that is written in chunks may be open.
    /// - Throws: ``WebSocketViolation/outOfMemory``.
    package mutating func write(
        _ message: CurlewWebSocket.Message, into output: inout [UInt8]
    ) throws(WebSocketViolation) {
        switch message.content {
        case .binary(let bytes): try write(message.kind, bytes.span.bytes, into: &output)
        case .text(var text):
            // The span of a bridged or a small string would refer to a copy.
            text.makeContiguousUTF8()
            try write(message.kind, text.utf8.span.bytes, into: &output)
        }
    }

    private mutating func write(
        _ kind: CurlewWebSocket.Message.Kind, _ payload: RawSpan, into output: inout [UInt8]
    ) throws(WebSocketViolation) {
        precondition(open == nil, "a message is written in chunks, and must be finished before the next one")
        guard deflater != nil, payload.byteCount >= minimumSize else {
            frames.write(FrameOpcode(kind), payload, into: &output)
            return
        }
        var compressed = takeScratch()
        try deflater?.deflate(payload, isLast: true, into: &compressed)
        // With a kept context the compressed bytes are sent even if they are not fewer, because the peer's context must
        // include the message.
        if deflater?.keepsContext == false, compressed.count >= payload.byteCount {
            frames.write(FrameOpcode(kind), payload, into: &output)
        } else {
            frames.write(FrameOpcode(kind), compressed.span.bytes, isCompressed: true, into: &output)
        }
        keepScratch(compressed)
    }

    /// Begins a message that is written in chunks. Control frames may be written between the chunks, but no other
    /// message.
    package mutating func begin(_ kind: CurlewWebSocket.Message.Kind) {
        precondition(open == nil, "a message is written in chunks, and must be finished before the next one")
        open = OpenMessage(
            kind: kind, isCompressed: deflater != nil, text: kind == .text ? UTF8Validator() : nil)
    }

    /// True if a fragment of an unfinished message was written.
    var isMessageOpen: Bool { open?.isBegun == true }

    /// Appends a chunk of the open message as a frame that is not final. An empty chunk writes nothing.
    /// - Throws: ``WebSocketViolation/invalidText`` if a text is not UTF-8. The message then cannot be finished, and
    ///   the connection must be closed. ``WebSocketViolation/outOfMemory``.
    package mutating func write(chunk: RawSpan, into output: inout [UInt8]) throws(WebSocketViolation) {
        guard !chunk.isEmpty else { return }
        try write(chunk, isLast: false, into: &output)
    }

    /// Appends the last frame of the open message, with the last chunk or without bytes.
    /// - Throws: The errors of ``write(chunk:into:)``.
    package mutating func finish(chunk: RawSpan, into output: inout [UInt8]) throws(WebSocketViolation) {
        try write(chunk, isLast: true, into: &output)
        open = nil
    }

    /// Appends the last frame of the open message, without bytes.
    /// - Throws: The errors of ``write(chunk:into:)``.
    package mutating func finish(into output: inout [UInt8]) throws(WebSocketViolation) {
        try finish(chunk: RawSpan(), into: &output)
    }

    private mutating func write(
        _ chunk: RawSpan, isLast: Bool, into output: inout [UInt8]
    ) throws(WebSocketViolation) {
        // A frame outside a message would shift all later messages of the connection, so this is a trap. No input of a
        // peer leads to it: the sender opens a message before it writes.
        guard var message = open else { preconditionFailure("no message is open") }
        guard message.text?.accepts(chunk) != false, !isLast || message.text?.isComplete != false else {
            throw .invalidText
        }
        let opcode = message.isBegun ? .continuation : FrameOpcode(message.kind)
        if message.isCompressed {
            var compressed = takeScratch()
            try deflater?.deflate(chunk, isLast: isLast, into: &compressed)
            frames.write(
                opcode, compressed.span.bytes, isFinal: isLast, isCompressed: !message.isBegun, into: &output)
            keepScratch(compressed)
        } else {
            frames.write(opcode, chunk, isFinal: isLast, into: &output)
        }
        message.isBegun = true
        open = message
    }

    /// Takes the emptied scratch array out of the writer, which writes frames from it.
    private mutating func takeScratch() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &scratch)
        taken.removeAll(keepingCapacity: true)
        return taken
    }

    private mutating func keepScratch(_ bytes: [UInt8]) {
        if bytes.capacity <= Self.keptCapacity { scratch = bytes }
    }

    /// Appends a control frame. It may be between the chunks of a message.
    package mutating func write(_ frame: ControlFrame, into output: inout [UInt8]) {
        frames.write(frame, into: &output)
    }

    /// Frees memory that the next message does not need. An idle connection calls it.
    package mutating func freeIdleMemory() {
        scratch = []
        if open == nil { deflater?.freeIfIdle() }
    }
}
