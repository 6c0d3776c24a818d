/// Compresses messages, one after the other (RFC 7692 §7.2.1).
struct MessageDeflater {
    private let window: CurlewWebSocket.Compression.Window
    /// True if messages may refer to earlier ones.
    let keepsContext: Bool
    private let level: Int
    /// Made for the first compressed message: zlib takes 256 KiB.
    private var deflater: RawDeflater?

    init(_ agreement: DeflateAgreement, role: WebSocketRole, level: Int) {
        window = role == .client ? agreement.clientWindow : agreement.serverWindow
        keepsContext = role == .client ? agreement.clientKeepsContext : agreement.serverKeepsContext
        self.level = level
    }

    /// Compresses the next part of a message.
    /// - Parameters:
    ///   - part: The bytes. All of them can be decompressed from the output so far.
    ///   - isLast: True for the last part.
    ///   - output: The bytes to append to.
    mutating func deflate(_ part: RawSpan, isLast: Bool, into output: inout [UInt8]) throws(WebSocketViolation) {
        let deflater = try started()
        let before = output.count
        try deflater.deflate(part, into: &output)
        guard isLast else { return }
        if output.count - before >= 4 {
            // The empty block of the flush ends each message, and is left out.
            output.removeLast(4)
        } else {
            // The part is empty, and everything was flushed before: an empty block without its last four bytes.
            output.append(0)
        }
        if !keepsContext { try deflater.reset() }
    }

    private mutating func started() throws(WebSocketViolation) -> RawDeflater {
        if let deflater { return deflater }
        let deflater = try RawDeflater(window, level: level)
        self.deflater = deflater
        return deflater
    }

    /// Frees zlib's memory if the next message needs nothing of the last one. It is called between messages.
    mutating func freeIfIdle() {
        if !keepsContext { deflater = nil }
    }
}
