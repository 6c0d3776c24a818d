internal import Curlew

/// The receiving side of a WebSocket: it reads the peer's frames and makes the parts of messages.
struct MessageReceiver: ~Copyable {
    /// The result of reading an event.
    enum Step {
        /// A message has begun or grown.
        case progress
        case part(CurlewWebSocket.Part)
        case ping([UInt8])
        case pong([UInt8])
        /// The peer's close frame. It is the last step.
        case close(CurlewWebSocket.CloseStatus)
    }

    private var reader: MessageReader
    /// The message, or the part of it, that is being received.
    private var message: [UInt8] = []
    private var kind = CurlewWebSocket.Message.Kind.binary
    private var isFirstPart = true
    private var deliversParts = false
    /// Bytes that were read from the socket and are not parsed.
    private var rest: MessageReader.Rest?
    /// True if received messages are discarded.
    private(set) var isDiscarding = false

    /// The work that a frame counts in addition to its bytes.
    private static let frameCost = 128

    init(_ compression: DeflateAgreement?, _ limits: CurlewWebSocket.Limits) {
        reader = MessageReader(role: .client, limits: limits, compression: compression)
    }

    /// Reads up to the next event.
    /// - Parameters:
    ///   - input: The peer's bytes.
    ///   - budget: The remaining work of the turn. The work of the event is subtracted.
    /// - Returns: The step; nil when the buffer is used up.
    mutating func next(
        in input: inout ReceiveBuffer, _ budget: inout Int
    ) throws(WebSocketViolation) -> Step? {
        let frames = reader.frameCount
        defer { budget -= (reader.frameCount - frames) * Self.frameCost }
        do throws(WebSocketViolation) {
            guard let event = try reader.next(in: &input, into: &message) else { return nil }
            if case .chunk(let count) = event { budget -= count }
            return take(event)
        } catch {
            message = []
            throw error
        }
    }

    private mutating func take(_ event: MessageEvent) -> Step {
        switch event {
        case .begin(let kind):
            self.kind = kind
            isFirstPart = true
            message = []
            return .progress
        case .chunk: return deliversParts ? .part(takePart(isLast: false)) : .progress
        case .end: return .part(takePart(isLast: true))
        case .ping(let payload): return .ping(payload)
        case .pong(let payload): return .pong(payload)
        case .close(let status): return .close(status)
        }
    }

    private mutating func takePart(isLast: Bool) -> CurlewWebSocket.Part {
        var bytes: [UInt8] = []
        swap(&bytes, &message)
        defer { isFirstPart = false }
        return CurlewWebSocket.Part(kind: kind, bytes: bytes, isFirst: isFirstPart, isLast: isLast)
    }

    /// Delivers messages in parts from now on.
    /// - Returns: The part that was received before the call; nil for none.
    mutating func deliverParts() -> CurlewWebSocket.Part? {
        deliversParts = true
        reader.collectsMessages = false
        return message.isEmpty ? nil : takePart(isLast: false)
    }

    // MARK: The buffer

    /// Keeps the rest of the buffer, which other connections use from now on.
    mutating func suspend(_ input: inout ReceiveBuffer) { rest = reader.suspend(&input) }

    /// Puts the kept rest back into the empty buffer.
    /// - Returns: False if no rest was kept.
    mutating func resume(in input: inout ReceiveBuffer) -> Bool {
        if let rest = rest.take() {
            reader.resume(rest, in: &input)
            return true
        }
        return false
    }

    // MARK: Memory

    /// Discards the received messages and all later ones.
    mutating func discard() {
        isDiscarding = true
        message = []
        reader.discardMessages()
    }

    mutating func removeAll() {
        rest = nil
        message = []
    }

    /// Frees memory that the next message does not need.
    mutating func freeIdleMemory() { reader.freeIdleMemory() }
}
