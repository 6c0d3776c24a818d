public import Curlew

extension CurlewWebSocket {
    /// Bounds on the messages that a WebSocket receives. A peer that exceeds one gets a close frame with
    /// ``CurlewWebSocket/CloseCode/messageTooBig``.
    public struct Limits: Sendable, Hashable {
        /// The most bytes of a message, after decompression. 16 MiB by default.
        public var messageSize: ByteSize
        /// The most bytes of a frame, as it is sent. 16 MiB by default. A frame is refused when its header comes.
        public var frameSize: ByteSize
        /// The times that a compressed message may become larger, beyond ``ratioFreeSize``. 100 by default; nil for no such
        /// bound.
        public var ratio: Int?
        /// The size up to which ``ratio`` does not count. 1 MiB by default.
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

    /// The most bytes that the frames of a compressed message may have. Deflate adds less than an eighth to
    /// incompressible data; the rest leaves room for a flush after each fragment.
    var compressedSize: Int {
        let (sum, overflow) = messageSize.bytes.addingReportingOverflow(messageSize.bytes / 4 + 4096)
        return overflow ? .max : sum
    }

    /// The most bytes that a compressed message may have become after so many bytes of it.
    func inflatedSize(of received: Int) -> Int {
        guard let ratio else { return .max }
        let (product, overflow) = max(0, ratio).multipliedReportingOverflow(by: received)
        return overflow ? .max : max(ratioFreeSize.bytes, product)
    }
}
