/// A violation in the peer's bytes: of RFC 6455, of RFC 7692 or of a limit.
package enum WebSocketViolation: Error, Sendable, Hashable {
    /// Reserved bits of the first byte that no extension uses.
    case reservedBits(UInt8)
    /// A compressed message, although compression was not negotiated.
    case compressionNotNegotiated
    /// The compression bit on a frame that does not begin a message.
    case misplacedCompressionBit
    case reservedOpcode(UInt8)
    case fragmentedControlFrame
    /// A control frame of more than 125 bytes.
    case oversizedControlFrame
    /// A continuation frame without a message to continue.
    case unexpectedContinuation
    /// A new message before the end of a fragmented one.
    case interruptedMessage
    /// A frame of a client without a mask.
    case missingMask
    /// A frame of a server with a mask.
    case unexpectedMask
    /// A length that is not in the shortest form.
    case lengthNotMinimal(UInt64)
    /// A length of 2^63 or more.
    case lengthOutOfRange(UInt64)
    case frameTooBig(length: UInt64, limit: Int)
    case messageTooBig(limit: Int)
    /// A compressed message that exceeds the ratio of decompression.
    case ratioTooHigh(limit: Int)
    case invalidText
    case closePayloadOfOneByte
    case invalidCloseCode(UInt16)
    case invalidCloseReason
    case corruptCompression
    /// An allocation of zlib failed. The peer is not at fault.
    case outOfMemory

    /// The code of the close frame that reports the violation.
    package var closeCode: CurlewWebSocket.CloseCode {
        switch self {
        case .invalidText, .invalidCloseReason, .corruptCompression: .invalidPayload
        case .frameTooBig, .messageTooBig, .ratioTooHigh: .messageTooBig
        case .outOfMemory: .internalError
        default: .protocolError
        }
    }
}

extension WebSocketViolation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .reservedBits(let bits): "a frame has the reserved bits 0x\(String(bits, radix: 16))"
        case .compressionNotNegotiated: "a message is compressed, and compression was not negotiated"
        case .misplacedCompressionBit: "the bit of compression is set on a frame that begins no message"
        case .reservedOpcode(let opcode): "a frame has the reserved opcode \(opcode)"
        case .fragmentedControlFrame: "a control frame is fragmented"
        case .oversizedControlFrame: "a control frame has more than 125 bytes"
        case .unexpectedContinuation: "a continuation frame continues no message"
        case .interruptedMessage: "a message begins inside a fragmented message"
        case .missingMask: "a frame of the client has no mask"
        case .unexpectedMask: "a frame of the server has a mask"
        case .lengthNotMinimal(let length): "the length \(length) is not written in the shortest form"
        case .lengthOutOfRange(let length): "the length \(length) is not below 2^63"
        case .frameTooBig(let length, let limit): "a frame has \(length) bytes, and \(limit) are allowed"
        case .messageTooBig(let limit): "a message has more than \(limit) bytes"
        case .ratioTooHigh(let limit): "a compressed message grows more than \(limit) times"
        case .invalidText: "a text message is not UTF-8"
        case .closePayloadOfOneByte: "a close frame has one byte"
        case .invalidCloseCode(let code): "a close frame has the invalid code \(code)"
        case .invalidCloseReason: "the reason of a close frame is not UTF-8"
        case .corruptCompression: "the compressed data of a message is corrupt"
        case .outOfMemory: "there is no memory for compression"
        }
    }
}
