/// Decompresses the messages of a peer, one after the other (RFC 7692 §7.2.2).
struct MessageInflater {
    private let window: CurlewWebSocket.Compression.Window
    private let keepsContext: Bool
    private let limits: CurlewWebSocket.Limits
    /// Made for the first compressed message.
    private var inflater: RawInflater?
    private var message = Message()

    /// The figures of the message that comes.
    private struct Message {
        /// Compressed bytes.
        var received = 0
        /// Bytes after decompression.
        var produced = 0
    }

    /// The empty block that ends each message, and that its sender leaves out.
    private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
    /// The most bytes that one step appends.
    static let stepLimit = 64 << 10

    init(_ agreement: DeflateAgreement, role: WebSocketRole, limits: CurlewWebSocket.Limits) {
        window = role == .client ? agreement.serverWindow : agreement.clientWindow
        keepsContext = role == .client ? agreement.serverKeepsContext : agreement.clientKeepsContext
        self.limits = limits
    }

    /// Decompresses some of the message.
    /// - Parameters:
    ///   - input: The next bytes of the message.
    ///   - output: The bytes to append to, at most ``stepLimit`` of them.
    /// - Returns: The number of bytes of the input that are used up, and false if more output waits inside zlib.
    mutating func inflate(
        _ input: RawSpan, into output: inout [UInt8]
    ) throws(WebSocketViolation) -> (used: Int, isDrained: Bool) {
        let inflater = try started()
        let before = output.count
        let step = min(Self.stepLimit, max(1024, 4 * input.byteCount))
        // A single byte beyond the limit shows that it is exceeded.
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

    /// Ends the message, after all of its bytes were taken and no output waits inside zlib.
    mutating func finish() throws(WebSocketViolation) {
        let inflater = try started()
        // Some peers send an empty message as no bytes at all, where RFC 7692 §7.2.3.6 has a zero. Others send nothing
        // behind a final block, where §7.2.3.4 has a zero, too. In both cases the tail would be no block.
        if message.received > 0, !inflater.isBehindFinalBlock {
            var output: [UInt8] = []
            let (used, _) = try inflater.inflate(Self.tail.span.bytes, into: &output, upTo: 1)
            // The tail is a block without content. A message that was cut short takes it for content.
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

    /// Frees zlib's memory if the next message needs nothing of the last one.
    mutating func freeIfIdle() {
        if !keepsContext, message.received == 0 { inflater = nil }
    }
}
