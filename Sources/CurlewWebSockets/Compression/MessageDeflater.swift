/// Compresses messages in sequence (RFC 7692 §7.2.1).
struct MessageDeflater {
    private let window: CurlewWebSocket.Compression.Window
    /// True if messages may refer to earlier messages.
    let keepsContext: Bool
    private let level: Int
    /// The compressor. It is created for the first compressed message, because zlib allocates 256 KiB.
    private var deflater: RawDeflater?

    init(_ agreement: DeflateAgreement, role: WebSocketRole, level: Int) {
        window = role == .client ? agreement.clientWindow : agreement.serverWindow
        keepsContext = role == .client ? agreement.clientKeepsContext : agreement.serverKeepsContext
        self.level = level
    }

    /// Compresses the next part of a message.
    /// - Parameters:
    ///   - part: The bytes. The output so far is enough to decompress all of them.
    ///   - isLast: True for the last part.
    ///   - output: The bytes to append to.
    mutating func deflate(_ part: RawSpan, isLast: Bool, into output: inout [UInt8]) throws(WebSocketViolation) {
        let deflater = try started()
        let before = output.count
        try deflater.deflate(part, into: &output)
        guard isLast else { return }
        if output.count - before >= 4 {
            // The empty block of the flush ends each message. The sender removes it.
            output.removeLast(4)
        } else {
            // The part is empty, and all earlier output is flushed. The zero byte is an empty block without its last
            // four bytes.
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

    /// Frees zlib's memory if the context is not kept. It is called between messages.
    mutating func freeIfIdle() {
        if !keepsContext { deflater = nil }
    }
}
