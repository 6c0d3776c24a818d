#if TestKit
/// A frame of a WebSocket (RFC 6455 §5.2) with any values, including invalid ones.
public struct MockWebSocketFrame: Sendable, Hashable {
    /// The opcode, of which the lowest four bits are sent: 0 continues a message, 1 is text, 2 is binary, 8 closes, 9
    /// is a ping and 10 a pong.
    public var opcode: UInt8
    /// The payload.
    public var payload: [UInt8]
    /// False if another frame continues the message.
    public var isFinal: Bool
    /// The three reserved bits; 4 marks a compressed message (RFC 7692).
    public var reserved: UInt8
    /// The mask, which a server's frame must not have.
    public var mask: [UInt8]?
    /// The length that the header announces; nil for the length of the payload.
    public var announcedLength: UInt64?

    /// Makes a frame.
    public init(
        opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0, mask: [UInt8]? = nil,
        announcedLength: UInt64? = nil
    ) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
        self.mask = mask
        self.announcedLength = announcedLength
    }

    /// The bytes of the frame.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = [(self.isFinal ? 0x80 : 0) | (self.reserved & 7) << 4 | self.opcode & 0x0F]
        let maskBit: UInt8 = self.mask == nil ? 0 : 0x80
        let length = self.announcedLength ?? UInt64(self.payload.count)
        switch length {
        case ..<126: bytes.append(maskBit | UInt8(length))
        case ..<65536: bytes += [maskBit | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
        default:
            bytes.append(maskBit | 127)
            for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: length >> UInt64(56 - 8 * index))) }
        }
        guard let mask = self.mask, !mask.isEmpty else { return bytes + self.payload }
        bytes += mask
        for (index, byte) in self.payload.enumerated() { bytes.append(byte ^ mask[index % mask.count]) }
        return bytes
    }
}

extension MockWebSocketFrame {
    /// Frames that violate the protocol, with the name of each fault. A client answers with the listed close code.
    public static let faults: [(name: String, frames: [MockWebSocketFrame], closeCode: UInt16)] = [
        ("a mask", [.init(opcode: 1, [104], mask: [1, 2, 3, 4])], 1002),
        ("a reserved opcode", [.init(opcode: 3)], 1002),
        ("a reserved control opcode", [.init(opcode: 11)], 1002),
        ("reserved bits", [.init(opcode: 1, reserved: 1)], 1002),
        ("compression that was not negotiated", [.init(opcode: 1, [104], reserved: 4)], 1002),
        ("a fragmented ping", [.init(opcode: 9, isFinal: false)], 1002),
        ("an oversized ping", [.init(opcode: 9, [UInt8](repeating: 0, count: 126))], 1002),
        ("a continuation of nothing", [.init(opcode: 0)], 1002),
        ("a message inside a message", [.init(opcode: 1, isFinal: false), .init(opcode: 1)], 1002),
        ("a length of 2^63", [.init(opcode: 2, announcedLength: 1 << 63)], 1002),
        ("a frame that is too big", [.init(opcode: 2, announcedLength: 1 << 40)], 1009),
        ("text that is not UTF-8", [.init(opcode: 1, [0xC3, 0x28])], 1007),
        ("text that ends inside a character", [.init(opcode: 1, [0xE2, 0x82])], 1007),
        (
            "broken text in fragments",
            [.init(opcode: 1, [0xE2], isFinal: false), .init(opcode: 9), .init(opcode: 0, [0x28])], 1007
        ),
        ("a close frame of one byte", [.init(opcode: 8, [3])], 1002),
        ("a close frame with the code 1005", [.init(opcode: 8, [3, 237])], 1002),
        ("a close frame with the code 999", [.init(opcode: 8, [3, 231])], 1002),
        ("a reason that is not UTF-8", [.init(opcode: 8, [3, 232, 0xFF])], 1007),
    ]
}
#endif
