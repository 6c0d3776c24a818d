/// An event in the messages of a peer.
package enum MessageEvent: Sendable, Hashable {
    case begin(CurlewWebSocket.Message.Kind)
    /// The number of bytes of the message that were appended to the output.
    case chunk(Int)
    /// The end of the message. A text is valid UTF-8.
    case end
    case ping([UInt8])
    case pong([UInt8])
    /// The peer's close frame. It is the last event.
    case close(CurlewWebSocket.CloseStatus)
}

/// A reader of a peer's messages: frames, decompression, UTF-8 and limits.
///
/// Each event appends at most 64 KiB of a message (or the content of the buffer) to the caller's bytes. A caller that
/// collects messages keeps the bytes until ``MessageEvent/end``. A caller of chunks removes them at each event, and
/// sets ``collectsMessages`` to false.
package struct MessageReader: ~Copyable {
    private var parser: FrameParser
    private var inflater: MessageInflater?
    private var text: UTF8Validator?
    private var state = State.frames
    private var isCompressed = false

    /// True if the caller keeps the bytes until the end of a message. Room for the rest of a frame is then reserved at
    /// once, because stepwise growth takes twenty times as long for 1 MiB.
    package var collectsMessages = true
    private var discardsMessages = false

    /// The maximum room that is reserved for bytes before they are received. It limits the cost of a peer that
    /// announces more than it sends.
    private static let reserveLimit = 1 << 20

    private enum State {
        case frames
        /// Compressed bytes in the buffer, and perhaps output inside zlib.
        case inflating(Range<Int>)
        case failed(WebSocketViolation)
    }

    /// - Parameters:
    ///   - role: The role of this endpoint. The messages are those of the peer.
    ///   - limits: The bounds of frames and messages.
    ///   - compression: The result of the negotiation; nil for no compression.
    package init(
        role: WebSocketRole, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(),
        compression: DeflateAgreement? = nil
    ) {
        parser = FrameParser(role: role, limits: limits, allowsCompression: compression != nil)
        inflater = compression.map { MessageInflater($0, role: role, limits: limits) }
    }

    /// Reads up to the next event.
    /// - Parameters:
    ///   - input: The peer's bytes. The caller may fill the buffer again only after the method has returned nil.
    ///   - output: The bytes to append messages to.
    /// - Returns: The event; nil when the buffer is used up.
    /// - Throws: The violation of the peer. Every later call throws it again.
    package mutating func next(
        in input: inout ReceiveBuffer, into output: inout [UInt8]
    ) throws(WebSocketViolation) -> MessageEvent? {
        do throws(WebSocketViolation) {
            while true {
                switch state {
                case .frames:
                    guard let event = try parser.next(in: &input) else { return nil }
                    if let event = try take(event, &input, into: &output) { return event }
                case .inflating(let range):
                    if let event = try inflate(range, input, into: &output) { return event }
                case .failed(let violation): throw violation
                }
            }
        } catch {
            state = .failed(error)
            input.discardAll()
            throw error
        }
    }

    private mutating func take(
        _ event: FrameEvent, _ input: inout ReceiveBuffer, into output: inout [UInt8]
    ) throws(WebSocketViolation) -> MessageEvent? {
        switch event {
        case .messageBegin where discardsMessages, .payload where discardsMessages, .messageEnd where discardsMessages:
            return nil
        case .messageBegin(let kind, let isCompressed):
            self.isCompressed = isCompressed
            text = kind == .text ? UTF8Validator() : nil
            return .begin(kind)
        case .payload(let range):
            guard !isCompressed else {
                state = .inflating(range)
                return nil
            }
            let before = output.count
            if collectsMessages { output.reserve(range.count + min(parser.remaining, Self.reserveLimit)) }
            output += input.storage[range]
            return try chunk(from: before, in: output)
        case .messageEnd:
            if isCompressed { try inflater?.finish() }
            guard text?.isComplete != false else { throw .invalidText }
            return .end
        case .ping(let payload): return .ping(payload)
        case .pong(let payload): return .pong(payload)
        case .close(let status): return .close(status)
        }
    }

    private mutating func inflate(
        _ range: Range<Int>, _ input: borrowing ReceiveBuffer, into output: inout [UInt8]
    ) throws(WebSocketViolation) -> MessageEvent? {
        let before = output.count
        guard let (used, isDrained) = try inflater?.inflate(input.storage.span.bytes.extracting(range), into: &output)
        else { throw .compressionNotNegotiated }
        let rest = range.dropFirst(used)
        state = rest.isEmpty && isDrained ? .frames : .inflating(rest)
        return try chunk(from: before, in: output)
    }

    /// Validates the appended bytes and reports their number; nil without such bytes.
    private mutating func chunk(from start: Int, in output: [UInt8]) throws(WebSocketViolation) -> MessageEvent? {
        let count = output.count - start
        guard count > 0 else { return nil }
        guard text?.accepts(output.span.bytes.extracting(droppingFirst: start)) != false else { throw .invalidText }
        return .chunk(count)
    }

    /// The bytes of a buffer that the reader has not used up.
    package struct Rest: ~Copyable {
        fileprivate let bytes: [UInt8]
        /// The number of leading bytes that belong to a parsed frame and wait for decompression.
        fileprivate let taken: Int
    }

    /// Takes the rest of a buffer, which other connections may use until ``resume(_:in:)``. A rest without bytes must
    /// be kept as well, because zlib may hold output.
    package mutating func suspend(_ input: inout ReceiveBuffer) -> Rest {
        guard case .inflating(let range) = state else { return Rest(bytes: input.takeRest(), taken: 0) }
        state = .inflating(0..<range.count)
        return Rest(bytes: input.takeRest(from: range.lowerBound), taken: range.count)
    }

    /// Puts the rest back into an empty buffer.
    package func resume(_ rest: consuming Rest, in input: inout ReceiveBuffer) {
        input.fill(with: rest.bytes, taken: rest.taken)
    }

    /// Discards all further messages without decompression and validation. Only control frames are reported. The call
    /// cannot be undone.
    package mutating func discardMessages() {
        discardsMessages = true
        text = nil
        if case .inflating = state { state = .frames }
    }

    /// The number of frames that have begun.
    package var frameCount: Int { parser.frameCount }

    /// Frees memory that the next message does not need. An idle connection calls it.
    package mutating func freeIdleMemory() { inflater?.freeIfIdle() }
}
