internal import Curlew

extension CurlewWebSocket {
    /// The content of a close frame: a code and a reason (RFC 6455 §5.5.1).
    public struct CloseStatus: Sendable {
        /// The code; ``CurlewWebSocket/CloseCode/noStatusReceived`` stands for a close frame without content.
        public let code: CurlewWebSocket.CloseCode
        /// The reason, at most 123 bytes of UTF-8. It is meant for logs, not for users. A received reason is unchanged.
        public let reason: String

        /// A close frame without content.
        public static let withoutCode = Self(uncheckedCode: .noStatusReceived, reason: "")

        /// Makes a status that a close frame can carry.
        /// - Parameters:
        ///   - code: The code.
        ///   - reason: The reason. Text beyond 123 bytes of UTF-8 is removed, at the boundary of a Unicode scalar.
        /// - Returns: nil if no close frame may carry the code (``CurlewWebSocket/CloseCode/isTransmissible``).
        public init?(_ code: CurlewWebSocket.CloseCode, reason: String = "") {
            guard code.isTransmissible else { return nil }
            self.init(uncheckedCode: code, reason: Self.shortened(reason))
        }

        private init(uncheckedCode code: CurlewWebSocket.CloseCode, reason: String) {
            self.code = code
            self.reason = reason
        }

        /// The status that reports a violation to the peer.
        init(_ violation: WebSocketViolation) {
            self.init(uncheckedCode: violation.closeCode, reason: Self.shortened(violation.description))
        }

        /// The maximum length of a reason. A control frame holds 125 bytes, and the code takes two of them.
        private static let reasonLimit = FrameHeader.controlLimit - 2

        private static func shortened(_ reason: String) -> String {
            guard reason.utf8.count > reasonLimit else { return reason }
            let end = reason.utf8.index(reason.utf8.startIndex, offsetBy: reasonLimit)
            // An index between two bytes of a scalar is rounded down to the scalar's start.
            return String(reason.unicodeScalars[..<end])
        }
    }
}

extension CurlewWebSocket.CloseStatus {
    /// Reads the payload of a close frame.
    init(payload: [UInt8]) throws(WebSocketViolation) {
        guard !payload.isEmpty else {
            self = .withoutCode
            return
        }
        guard payload.count > 1 else { throw .closePayloadOfOneByte }
        let code = CurlewWebSocket.CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isTransmissible else { throw .invalidCloseCode(code.rawValue) }
        var validator = UTF8Validator()
        guard validator.accepts(payload.span.bytes.extracting(droppingFirst: 2)), validator.isComplete else {
            throw .invalidCloseReason
        }
        self.init(uncheckedCode: code, reason: String(decoding: payload[2...], as: UTF8.self))
    }

    /// The payload of a close frame.
    var payload: [UInt8] {
        guard code != .noStatusReceived else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)] + Array(reason.utf8)
    }
}

extension CurlewWebSocket.CloseStatus: CustomStringConvertible {
    /// The code, and a reason in quotation marks. Control characters are escaped.
    public var description: String { reason.isEmpty ? "\(code)" : "\(code): \(reason.debugDescription)" }
}

extension CurlewWebSocket.CloseStatus: Hashable {
    /// True if the codes and the bytes of the reasons are equal.
    public static func == (left: CurlewWebSocket.CloseStatus, right: CurlewWebSocket.CloseStatus) -> Bool {
        left.code == right.code && left.reason.hasSameBytes(as: right.reason)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(ExactText(reason))
    }
}
