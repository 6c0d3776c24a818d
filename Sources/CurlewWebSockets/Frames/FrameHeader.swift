/// The role of an endpoint of a WebSocket.
package enum WebSocketRole: Sendable, Hashable {
    /// The endpoint that opened the connection. It masks its frames.
    case client
    /// The endpoint that accepted the connection. Its frames are not masked.
    case server
}

/// The kind of a frame (RFC 6455 §5.2).
package enum FrameOpcode: UInt8, Sendable, Hashable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue & 0x8 != 0 }

    init(_ kind: CurlewWebSocket.Message.Kind) {
        self =
            switch kind {
            case .text: .text
            case .binary: .binary
            }
    }
}

/// The header of a frame (RFC 6455 §5.2).
struct FrameHeader: Hashable {
    var opcode: FrameOpcode
    var isFinal = true
    /// The first reserved bit, which marks a compressed message (RFC 7692).
    var isCompressed = false
    var mask: FrameMask?
    var length: Int

    /// The maximum length of a control frame's payload.
    static let controlLimit = 125
    /// The maximum size of a header: two bytes, eight bytes of length, and four bytes of mask.
    static let sizeLimit = 14

    /// Appends the header, with the shortest form of the length.
    func append(to output: inout [UInt8]) {
        output.append(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        if length < 126 {
            output.append(maskBit | UInt8(length))
        } else if length <= 0xFFFF {
            output.append(maskBit | 126)
            output.append(UInt8(length >> 8))
            output.append(UInt8(length & 0xFF))
        } else {
            output.append(maskBit | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
        mask?.append(to: &output)
    }
}
