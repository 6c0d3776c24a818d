#if TestKit
extension HTTP2WireFrame {
    /// A parameter of SETTINGS (RFC 9113, section 6.5.2).
    public struct Setting: RawRepresentable, Sendable, Hashable {
        /// The number on the wire.
        public let rawValue: UInt16
        /// A setting by its number, known or unknown.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// SETTINGS_HEADER_TABLE_SIZE.
        public static let headerTableSize = Setting(rawValue: 1)
        /// SETTINGS_ENABLE_PUSH.
        public static let enablePush = Setting(rawValue: 2)
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        public static let maxConcurrentStreams = Setting(rawValue: 3)
        /// SETTINGS_INITIAL_WINDOW_SIZE.
        public static let initialWindowSize = Setting(rawValue: 4)
        /// SETTINGS_MAX_FRAME_SIZE.
        public static let maxFrameSize = Setting(rawValue: 5)
        /// SETTINGS_MAX_HEADER_LIST_SIZE.
        public static let maxHeaderListSize = Setting(rawValue: 6)
    }

    /// An error code (RFC 9113, section 7).
    public struct ErrorCode: RawRepresentable, Sendable, Hashable {
        /// The number on the wire.
        public let rawValue: UInt32
        /// An error code by its number, known or unknown.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// NO_ERROR.
        public static let noError = ErrorCode(rawValue: 0)
        /// PROTOCOL_ERROR.
        public static let protocolError = ErrorCode(rawValue: 1)
        /// INTERNAL_ERROR.
        public static let internalError = ErrorCode(rawValue: 2)
        /// FLOW_CONTROL_ERROR.
        public static let flowControlError = ErrorCode(rawValue: 3)
        /// REFUSED_STREAM: the request was not processed and may be sent again.
        public static let refusedStream = ErrorCode(rawValue: 7)
        /// CANCEL.
        public static let cancel = ErrorCode(rawValue: 8)
        /// COMPRESSION_ERROR.
        public static let compressionError = ErrorCode(rawValue: 9)
        /// ENHANCE_YOUR_CALM.
        public static let enhanceYourCalm = ErrorCode(rawValue: 11)
        /// HTTP_1_1_REQUIRED.
        public static let http11Required = ErrorCode(rawValue: 13)
    }

    /// SETTINGS with these parameters, in this order.
    public static func settings(_ settings: [(Setting, UInt32)] = []) -> HTTP2WireFrame {
        let payload = settings.flatMap { setting, value in
            UInt32(setting.rawValue).bigEndianBytes.suffix(2) + value.bigEndianBytes
        }
        return HTTP2WireFrame(kind: .settings, payload: payload)
    }

    /// The acknowledgement of SETTINGS.
    public static let settingsAcknowledgement = HTTP2WireFrame(kind: .settings, flags: .acknowledgement)

    /// HEADERS with these fields, pseudo-fields such as `:status` first.
    ///
    /// If `endHeaders` is false, ``continuation(stream:fields:endHeaders:)`` must follow.
    public static func headers(
        stream: UInt32,
        fields: [(String, String)],
        endStream: Bool = false,
        endHeaders: Bool = true
    ) -> HTTP2WireFrame {
        var flags: Flags = endHeaders ? .endHeaders : []
        if endStream { flags.insert(.endStream) }
        return HTTP2WireFrame(kind: .headers, flags: flags, stream: stream, payload: HPACKLiterals.encode(fields))
    }

    /// HEADERS with `:status` and these fields.
    public static func response(
        stream: UInt32,
        status: Int = 200,
        fields: [(String, String)] = [],
        endStream: Bool = false
    ) -> HTTP2WireFrame {
        .headers(stream: stream, fields: [(":status", String(status))] + fields, endStream: endStream)
    }

    /// CONTINUATION with more fields.
    public static func continuation(
        stream: UInt32,
        fields: [(String, String)],
        endHeaders: Bool = true
    ) -> HTTP2WireFrame {
        let flags: Flags = endHeaders ? .endHeaders : []
        return HTTP2WireFrame(kind: .continuation, flags: flags, stream: stream, payload: HPACKLiterals.encode(fields))
    }

    /// DATA.
    public static func data(stream: UInt32, _ bytes: [UInt8], endStream: Bool = false) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: .data, flags: endStream ? .endStream : [], stream: stream, payload: bytes)
    }

    /// RST_STREAM.
    public static func resetStream(_ stream: UInt32, _ code: ErrorCode) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: .resetStream, stream: stream, payload: code.rawValue.bigEndianBytes)
    }

    /// GOAWAY: streams above `lastStream` were not processed and may be sent again.
    public static func goAway(lastStream: UInt32, _ code: ErrorCode, debug: [UInt8] = []) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: .goAway, payload: lastStream.bigEndianBytes + code.rawValue.bigEndianBytes + debug)
    }

    /// PING with its eight bytes of data.
    public static func ping(_ bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], isAnswer: Bool = false) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: .ping, flags: isAnswer ? .acknowledgement : [], payload: bytes)
    }

    /// WINDOW_UPDATE; stream 0 is the connection's window.
    public static func windowUpdate(stream: UInt32 = 0, increment: UInt32) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: .windowUpdate, stream: stream, payload: increment.bigEndianBytes)
    }
}
#endif
