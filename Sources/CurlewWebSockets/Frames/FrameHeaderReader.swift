/// A reader of frame headers, which may arrive in any pieces. It reports a violation at the first byte that shows it.
struct FrameHeaderReader {
    /// The rules for the next frame.
    struct Rules {
        let isMasked: Bool
        let allowsCompression: Bool
        /// True inside a fragmented message.
        var continues = false
    }

    private var bytes = InlineArray<14, UInt8>(repeating: 0)
    private var count = 0
    /// The known length of the header.
    private var needed = 2

    /// Reads the available bytes.
    /// - Returns: The header; nil if it is incomplete.
    mutating func read(_ input: inout ReceiveBuffer, _ rules: Rules) throws(WebSocketViolation) -> FrameHeader? {
        while count < needed {
            guard let byte = input.popFirst() else { return nil }
            bytes[count] = byte
            count += 1
            if count == 1 { _ = try opcode(rules) }
            if count == 2 { try checkSecondByte(rules) }
            if count == lengthEnd { _ = try length() }
        }
        var header = FrameHeader(opcode: try opcode(rules), length: try length())
        header.isFinal = isFinal
        header.isCompressed = bytes[0] & 0x40 != 0
        if rules.isMasked {
            let start = lengthEnd
            header.mask = FrameMask(bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3])
        }
        self = FrameHeaderReader()
        return header
    }

    private var isFinal: Bool { bytes[0] & 0x80 != 0 }

    /// The position after the length; 2 before the second byte is read.
    private var lengthEnd: Int {
        switch bytes[1] & 0x7F {
        case 126: 4
        case 127: 10
        default: 2
        }
    }

    /// Checks the first byte.
    private func opcode(_ rules: Rules) throws(WebSocketViolation) -> FrameOpcode {
        let first = bytes[0]
        guard first & 0x30 == 0 else { throw .reservedBits(first & 0x30) }
        guard let opcode = FrameOpcode(rawValue: first & 0x0F) else { throw .reservedOpcode(first & 0x0F) }
        if first & 0x40 != 0 {
            guard rules.allowsCompression else { throw .compressionNotNegotiated }
            guard opcode == .text || opcode == .binary else { throw .misplacedCompressionBit }
        }
        switch opcode {
        case .close, .ping, .pong: guard isFinal else { throw .fragmentedControlFrame }
        case .continuation: guard rules.continues else { throw .unexpectedContinuation }
        case .text, .binary: guard !rules.continues else { throw .interruptedMessage }
        }
        return opcode
    }

    private mutating func checkSecondByte(_ rules: Rules) throws(WebSocketViolation) {
        let isMasked = bytes[1] & 0x80 != 0
        guard isMasked == rules.isMasked else { throw isMasked ? .unexpectedMask : .missingMask }
        guard bytes[0] & 0x08 == 0 || bytes[1] & 0x7F <= FrameHeader.controlLimit else { throw .oversizedControlFrame }
        needed = lengthEnd + (isMasked ? 4 : 0)
    }

    private func length() throws(WebSocketViolation) -> Int {
        let short = UInt64(bytes[1] & 0x7F)
        guard short >= 126 else { return Int(short) }
        var length: UInt64 = 0
        for index in 2..<lengthEnd { length = length << 8 | UInt64(bytes[index]) }
        guard length <= UInt64(Int64.max) else { throw .lengthOutOfRange(length) }
        guard length >= (short == 126 ? 126 : 0x1_0000) else { throw .lengthNotMinimal(length) }
        return Int(length)
    }
}
