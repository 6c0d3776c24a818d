/// A writer of frames (RFC 6455 §5). The frames of a client are masked.
package struct FrameWriter {
    private let role: WebSocketRole
    private var masks: FrameMaskSource

    /// - Parameters:
    ///   - role: The role of this endpoint.
    ///   - random: The source of the masks. It must be unpredictable, except in tests.
    package init(role: WebSocketRole, random: any RandomNumberGenerator = BulkRandom()) {
        self.role = role
        masks = FrameMaskSource(random)
    }

    /// Appends a frame. The payload is copied once and masked in the copy.
    /// - Parameters:
    ///   - opcode: The kind of the frame.
    ///   - payload: The payload, at most 125 bytes for a control frame.
    ///   - isFinal: False if another frame continues the message.
    ///   - isCompressed: True for the first frame of a compressed message.
    ///   - output: The bytes to append to.
    package mutating func write(
        _ opcode: FrameOpcode, _ payload: RawSpan, isFinal: Bool = true, isCompressed: Bool = false,
        into output: inout [UInt8]
    ) {
        var mask = role == .client ? masks.next() : nil
        let header = FrameHeader(
            opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, length: payload.byteCount)
        output.reserve(FrameHeader.sizeLimit + payload.byteCount)
        header.append(to: &output)
        let start = output.count
        payload.withUnsafeBytes { output.append(contentsOf: $0) }
        guard mask != nil else { return }
        var elements = output.mutableSpan
        var bytes = elements.mutableBytes
        mask!.apply(to: &bytes, in: start..<bytes.byteCount)
    }

    /// Appends a control frame.
    package mutating func write(_ frame: ControlFrame, into output: inout [UInt8]) {
        switch frame {
        case .ping(let payload): writeControl(.ping, payload, into: &output)
        case .pong(let payload): writeControl(.pong, payload, into: &output)
        case .close(let status): writeControl(.close, status.payload, into: &output)
        }
    }

    private mutating func writeControl(_ opcode: FrameOpcode, _ payload: [UInt8], into output: inout [UInt8]) {
        precondition(payload.count <= FrameHeader.controlLimit, "a control frame has more than 125 bytes")
        write(opcode, payload.span.bytes, into: &output)
    }
}

/// A control frame (RFC 6455 §5.5).
package enum ControlFrame: Sendable, Hashable {
    /// A ping with at most 125 bytes, which the peer sends back.
    case ping([UInt8] = [])
    /// The answer to a ping, with its bytes.
    case pong([UInt8])
    case close(CurlewWebSocket.CloseStatus)
}

extension [UInt8] {
    /// Reserves room for more bytes. Unlike `reserveCapacity`, it grows the array at least by doubling.
    mutating func reserve(_ more: Int) {
        guard capacity - count < more else { return }
        reserveCapacity(Swift.max(count + more, 2 * capacity))
    }
}
