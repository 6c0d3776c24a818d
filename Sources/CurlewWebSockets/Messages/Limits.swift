public import Curlew

extension CurlewWebSocket {
    /// The bounds of the messages that a WebSocket receives. A peer that exceeds a bound gets a close frame with
    /// ``CurlewWebSocket/CloseCode/messageTooBig``.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of a message, after decompression. 16 MiB by default.
        public var messageSize: ByteSize
        /// The maximum size of a frame's payload, before decompression. 16 MiB by default. A larger frame is refused
        /// when its header is received.
        public var frameSize: ByteSize
        /// The maximum ratio of a message's size after decompression to its size before. It applies beyond
        /// ``ratioFreeSize``. 100 by default; nil means no limit.
        public var ratio: Int?
        /// The size after decompression up to which ``ratio`` does not apply. 1 MiB by default.
        public var ratioFreeSize: ByteSize

        /// Makes limits; each is described at its property.
        public init(
            messageSize: ByteSize = .mebibytes(16), frameSize: ByteSize = .mebibytes(16), ratio: Int? = 100,
            ratioFreeSize: ByteSize = .mebibytes(1)
        ) {
            self.messageSize = messageSize
            self.frameSize = frameSize
            self.ratio = ratio
            self.ratioFreeSize = ratioFreeSize
        }
    }
}

extension CurlewWebSocket.Limits {
    var messageBytes: Int { messageSize.bytes }
    var frameBytes: Int { frameSize.bytes }

    /// The maximum number of bytes in the frames of a compressed message. Deflate adds less than an eighth to
    /// incompressible data; the rest leaves room for a flush after each fragment.
    var compressedSize: Int {
        let (sum, overflow) = messageSize.bytes.addingReportingOverflow(messageSize.bytes / 4 + 4096)
        return overflow ? .max : sum
    }

    /// The maximum size after decompression, for a number of received compressed bytes.
    func inflatedSize(of received: Int) -> Int {
        guard let ratio else { return .max }
        let (product, overflow) = max(0, ratio).multipliedReportingOverflow(by: received)
        return overflow ? .max : max(ratioFreeSize.bytes, product)
    }
}
