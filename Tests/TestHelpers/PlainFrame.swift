/// A frame of RFC 6455 §5.2. Its coding is independent of the module's code and has no checks.
package struct PlainFrame: Hashable {
    package var isFinal = true
    /// The three reserved bits; 4 is RSV1.
    package var reserved: UInt8 = 0
    package var opcode: UInt8
    package var mask: [UInt8]?
    package var payload: [UInt8]

    package init(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0, mask: [UInt8]? = nil
    ) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
        self.mask = mask
    }

    package init(_ opcode: UInt8, _ text: String, isFinal: Bool = true, reserved: UInt8 = 0) {
        self.init(opcode, Array(text.utf8), isFinal: isFinal, reserved: reserved)
    }

    package static func text(_ text: String) -> PlainFrame { PlainFrame(1, text) }

    package static func close(_ code: UInt16, _ reason: String = "") -> PlainFrame {
        PlainFrame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: bytes.append(maskBit | UInt8(payload.count))
        case ..<65536:
            bytes += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(maskBit | 127)
            for index in 0..<8 { bytes.append(UInt8(payload.count >> (56 - 8 * index) & 0xFF)) }
        }
        guard let mask else { return bytes + payload }
        bytes += mask
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
        return bytes
    }

    /// All frames in the bytes; nil if the bytes end inside a frame.
    package static func all(in bytes: [UInt8]) -> [PlainFrame]? {
        var frames: [PlainFrame] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let first = rest.popFirst(), let second = rest.popFirst() else { return nil }
            var length = Int(second & 0x7F)
            if length >= 126 {
                let size = length == 126 ? 2 : 8
                guard rest.count >= size else { return nil }
                length = rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(size)
            }
            var frame = PlainFrame(first & 0x0F, isFinal: first & 0x80 != 0, reserved: first >> 4 & 7)
            if second & 0x80 != 0 {
                guard rest.count >= 4 else { return nil }
                frame.mask = Array(rest.prefix(4))
                rest = rest.dropFirst(4)
            }
            guard rest.count >= length else { return nil }
            frame.payload = Array(rest.prefix(length))
            if let mask = frame.mask {
                for index in frame.payload.indices { frame.payload[index] ^= mask[index % 4] }
            }
            rest = rest.dropFirst(length)
            frames.append(frame)
        }
        return frames
    }
}

extension PlainFrame: CustomStringConvertible {
    package var description: String { "opcode \(opcode) with \(payload.count) bytes" }
}
