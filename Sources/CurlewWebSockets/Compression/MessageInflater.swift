/// Decompresses the messages of a peer in sequence (RFC 7692 §7.2.2).
struct MessageInflater {
    private let window: CurlewWebSocket.Compression.Window
    private let keepsContext: Bool
    private let limits: CurlewWebSocket.Limits
    /// The decompressor. It is created for the first compressed message.
    private var inflater: RawInflater?
    private var message = Message()

    /// The byte counts of the message that is being received.
    private struct Message {
        /// The number of received compressed bytes.
        var received = 0
        /// The number of bytes after decompression.
        var produced = 0
    }

    /// The empty block that ends each message. Its sender removes it.
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    /// The maximum number of bytes that a step appends.
    static let stepLimit = 64 << 10

    init(_ agreement: DeflateAgreement, role: WebSocketRole, limits: CurlewWebSocket.Limits) {
        window = role == .client ? agreement.serverWindow : agreement.clientWindow
        keepsContext = role == .client ? agreement.serverKeepsContext : agreement.clientKeepsContext
        self.limits = limits
    }

    /// Decompresses a part of the message.
    /// - Parameters:
    ///   - input: The next bytes of the message.
    ///   - output: The bytes to append to, at most ``stepLimit`` of them.
    /// - Returns: The number of input bytes that are used up, and false if zlib holds more output.
    mutating func inflate(
        _ input: RawSpan, into output: inout [UInt8]
    ) throws(WebSocketViolation) -> (used: Int, isDrained: Bool) {
        let inflater = try started()
        let before = output.count
        let step = min(Self.stepLimit, max(1024, 4 * input.byteCount))
        // A single byte beyond the limit is enough to detect that the message exceeds it.
        let room = min(step, max(0, min(step, limits.messageBytes - message.produced)) + 1)
        let (used, isDrained) = try inflater.inflate(input, into: &output, upTo: room)
        message.received += used
        message.produced += output.count - before
        guard message.produced <= limits.messageBytes else {
            throw .messageTooBig(limit: limits.messageBytes)
        }
        guard message.produced <= limits.inflatedSize(of: message.received) else {
            throw .ratioTooHigh(limit: limits.ratio ?? 0)
        }
        return (used, isDrained)
    }

    /// Ends the message. All of its bytes must be used up, and zlib must hold no output.
    mutating func finish() throws(WebSocketViolation) {
        let inflater = try started()
        // Some peers send an empty message without any byte, although RFC 7692 §7.2.3.6 has a zero byte. Other peers
        // send no byte after a final block, although §7.2.3.4 has a zero byte. In both cases the tail is not a valid
        // block.
        if message.received > 0, !inflater.isBehindFinalBlock {
            var output: [UInt8] = []
            let (used, _) = try inflater.inflate(Self.tail.span.bytes, into: &output, upTo: 1)
            // The tail is an empty block. In a truncated message it is decoded as content.
            guard used == Self.tail.count, output.isEmpty, inflater.isAtBlockBoundary else {
                throw .corruptCompression
            }
        }
        if !keepsContext { try inflater.reset() }
        message = Message()
    }

    private mutating func started() throws(WebSocketViolation) -> RawInflater {
        if let inflater { return inflater }
        let inflater = try RawInflater(window)
        self.inflater = inflater
        return inflater
    }

    /// Frees zlib's memory if the context is not kept and no message has begun.
    mutating func freeIfIdle() {
        if !keepsContext, message.received == 0 { inflater = nil }
    }
}
