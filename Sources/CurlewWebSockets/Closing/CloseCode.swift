extension CurlewWebSocket {
    /// The reason for the close of a WebSocket, as a number (RFC 6455 §7.4, and IANA's registry of close codes).
    ///
    /// Libraries and frameworks register codes from 3000 to 3999. Codes from 4000 to 4999 are free for applications.
    ///
    /// ```swift
    /// import CurlewWebSockets
    ///
    /// let sessionReplaced = CurlewWebSocket.CloseCode(rawValue: 4001)
    /// ```
    public struct CloseCode: RawRepresentable, Sendable, Hashable {
        /// The number.
        public let rawValue: UInt16

        /// Makes a code from any number. ``isTransmissible`` is true for the codes that a close frame may carry.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// True if a close frame may carry the code: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
        ///
        /// All other codes below 3000 are reserved. The codes 1005, 1006 and 1015 describe endings for which no frame
        /// carried a code.
        public var isTransmissible: Bool {
            switch rawValue {
            case 1000...1003, 1007...1014, 3000...4999: true
            default: false
            }
        }
    }
}

/// Codes of RFC 6455.
extension CurlewWebSocket.CloseCode {
    /// 1000: the purpose of the connection is fulfilled.
    public static let normalClosure = Self(rawValue: 1000)
    /// 1001: a server shuts down, or a client leaves.
    public static let goingAway = Self(rawValue: 1001)
    /// 1002: the peer violated the protocol.
    public static let protocolError = Self(rawValue: 1002)
    /// 1003: the peer sent a kind of message that the endpoint does not accept.
    public static let unsupportedData = Self(rawValue: 1003)
    /// 1005: the peer's close frame had no code. No frame carries this code.
    public static let noStatusReceived = Self(rawValue: 1005)
    /// 1006: the connection ended without a close frame. No frame carries this code.
    public static let abnormalClosure = Self(rawValue: 1006)
    /// 1007: a message had invalid content, such as text that is not UTF-8.
    public static let invalidPayload = Self(rawValue: 1007)
    /// 1008: a message violated a policy.
    public static let policyViolation = Self(rawValue: 1008)
    /// 1009: a message was too big.
    public static let messageTooBig = Self(rawValue: 1009)
    /// 1010: the server did not negotiate an extension that the client needs.
    public static let mandatoryExtension = Self(rawValue: 1010)
    /// 1011: an unexpected condition prevents the endpoint from continuing.
    public static let internalError = Self(rawValue: 1011)
    /// 1015: the TLS handshake failed. No frame carries this code.
    public static let tlsHandshakeFailed = Self(rawValue: 1015)
}

/// Codes that IANA has registered after RFC 6455.
extension CurlewWebSocket.CloseCode {
    /// 1012: the server restarts; a client may reconnect after a random delay.
    public static let serviceRestart = Self(rawValue: 1012)
    /// 1013: the server is overloaded; a client may reconnect later.
    public static let tryAgainLater = Self(rawValue: 1013)
    /// 1014: the server is a gateway and got an invalid response.
    public static let badGateway = Self(rawValue: 1014)
    /// 3000: the endpoint needs credentials.
    public static let unauthorized = Self(rawValue: 3000)
    /// 3003: the endpoint refuses the request in spite of its credentials.
    public static let forbidden = Self(rawValue: 3003)
    /// 3008: the endpoint took too long.
    public static let timeout = Self(rawValue: 3008)
}

extension CurlewWebSocket.CloseCode: CustomStringConvertible {
    /// The number, and the meaning of a known code.
    public var description: String { meaning.map { "\(rawValue) (\($0))" } ?? "\(rawValue)" }

    private var meaning: String? {
        switch self {
        case .normalClosure: "normal closure"
        case .goingAway: "going away"
        case .protocolError: "protocol error"
        case .unsupportedData: "unsupported data"
        case .noStatusReceived: "no status received"
        case .abnormalClosure: "abnormal closure"
        case .invalidPayload: "invalid payload"
        case .policyViolation: "policy violation"
        case .messageTooBig: "message too big"
        case .mandatoryExtension: "mandatory extension"
        case .internalError: "internal error"
        case .tlsHandshakeFailed: "TLS handshake failed"
        case .serviceRestart: "service restart"
        case .tryAgainLater: "try again later"
        case .badGateway: "bad gateway"
        case .unauthorized: "unauthorized"
        case .forbidden: "forbidden"
        case .timeout: "timeout"
        default: nil
        }
    }
}
