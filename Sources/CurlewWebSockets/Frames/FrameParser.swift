/// An event in the frames of a peer.
package enum FrameEvent: Sendable, Hashable {
    case messageBegin(CurlewWebSocket.Message.Kind, isCompressed: Bool)
    /// The range of the message's unmasked bytes in the buffer. It is valid until the buffer is filled again.
    case payload(Range<Int>)
    case messageEnd
    case ping([UInt8])
    case pong([UInt8])
    /// The peer's close frame. It is the last event, because no frame may follow it (RFC 6455 §5.5.1). Later bytes are
    /// discarded.
    case close(CurlewWebSocket.CloseStatus)
}

/// A parser of a peer's frames (RFC 6455 §5), which may arrive in any pieces. It stores at most a header or a control
/// frame.
package struct FrameParser: ~Copyable {
    private enum State {
        case header
        /// Inside a frame of a message.
        case data(remaining: Int, mask: FrameMask?, isFinal: Bool)
        /// Inside a control frame.
        case control(FrameOpcode, remaining: Int, mask: FrameMask?)
        /// After a close frame.
        case closed
        case failed(WebSocketViolation)
    }

    /// The message that is being received.
    private struct Message {
        let isCompressed: Bool
        /// The number of bytes that the headers of its frames have announced.
        var length = 0
    }

    private let limits: CurlewWebSocket.Limits
    private var rules: FrameHeaderReader.Rules
    private var reader = FrameHeaderReader()
    private var state = State.header
    private var message: Message?
    private var controlPayload: [UInt8] = []
    /// The number of frames that have begun.
    private(set) var frameCount = 0

    /// - Parameters:
    ///   - role: The role of this endpoint. The frames are those of the peer.
    ///   - limits: Bounds on frames, and on messages that are not compressed.
    ///   - allowsCompression: True if permessage-deflate was negotiated.
    package init(
        role: WebSocketRole, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(), allowsCompression: Bool = false
    ) {
        self.limits = limits
        rules = FrameHeaderReader.Rules(isMasked: role == .server, allowsCompression: allowsCompression)
    }

    /// The number of bytes that are missing from the present frame of a message.
    var remaining: Int {
        guard case .data(let remaining, _, _) = state else { return 0 }
        return remaining
    }

    /// Reads up to the next event.
    /// - Returns: The event; nil when the buffer is used up.
    /// - Throws: The violation of the peer. Every later call throws it again.
    package mutating func next(in input: inout ReceiveBuffer) throws(WebSocketViolation) -> FrameEvent? {
        do throws(WebSocketViolation) {
            while true {
                switch state {
                case .header:
                    guard let header = try reader.read(&input, rules) else { return nil }
                    if let event = try begin(header) { return event }
                case .data(let remaining, let mask, let isFinal):
                    if remaining == 0 {
                        state = .header
                        guard isFinal else { continue }
                        message = nil
                        rules.continues = false
                        return .messageEnd
                    }
                    guard let event = data(&input, remaining, mask, isFinal) else { return nil }
                    return event
                case .control(let opcode, let remaining, let mask):
                    guard let event = try control(&input, opcode, remaining, mask) else { return nil }
                    return event
                case .closed:
                    input.discardAll()
                    return nil
                case .failed(let violation): throw violation
                }
            }
        } catch {
            state = .failed(error)
            input.discardAll()
            throw error
        }
    }

    private mutating func begin(_ header: FrameHeader) throws(WebSocketViolation) -> FrameEvent? {
        frameCount &+= 1
        guard !header.opcode.isControl else {
            state = .control(header.opcode, remaining: header.length, mask: header.mask)
            return nil
        }
        guard header.length <= limits.frameBytes else {
            throw .frameTooBig(length: UInt64(header.length), limit: limits.frameBytes)
        }
        let isFirst = message == nil
        var current = message ?? Message(isCompressed: header.isCompressed)
        // Both numbers are bounded: the previous length of a message by its limit, and the length of a frame by the
        // check above.
        let (length, overflow) = current.length.addingReportingOverflow(header.length)
        guard !overflow, length <= (current.isCompressed ? limits.compressedSize : limits.messageBytes) else {
            throw .messageTooBig(limit: limits.messageBytes)
        }
        current.length = length
        message = current
        rules.continues = true
        state = .data(remaining: header.length, mask: header.mask, isFinal: header.isFinal)
        guard isFirst else { return nil }
        return .messageBegin(header.opcode == .text ? .text : .binary, isCompressed: header.isCompressed)
    }

    private mutating func data(
        _ input: inout ReceiveBuffer, _ remaining: Int, _ mask: FrameMask?, _ isFinal: Bool
    ) -> FrameEvent? {
        let part = input.take(upTo: remaining)
        guard !part.isEmpty else { return nil }
        var mask = mask
        if mask != nil { input.unmask(part, with: &mask!) }
        state = .data(remaining: remaining - part.count, mask: mask, isFinal: isFinal)
        return .payload(part)
    }

    private mutating func control(
        _ input: inout ReceiveBuffer, _ opcode: FrameOpcode, _ remaining: Int, _ mask: FrameMask?
    ) throws(WebSocketViolation) -> FrameEvent? {
        let part = input.take(upTo: remaining)
        var mask = mask
        if mask != nil { input.unmask(part, with: &mask!) }
        controlPayload += input.storage[part]
        guard part.count == remaining else {
            state = .control(opcode, remaining: remaining - part.count, mask: mask)
            return nil
        }
        let payload = controlPayload
        controlPayload = []
        // A message that a control frame has interrupted continues with the header of a frame.
        state = .header
        switch opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        default:
            let status = try CurlewWebSocket.CloseStatus(payload: payload)
            state = .closed
            return .close(status)
        }
    }
}
